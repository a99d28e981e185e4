-- How often the limits were changed, and by whom. The row is locked by whoever
-- changes them until they commit: versions are in the order of the commits.
CREATE TABLE IF NOT EXISTS rate_limit_config_version (
    only_row   boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    version    bigint      NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_by text        NOT NULL DEFAULT session_user
);
INSERT INTO rate_limit_config_version AS v (version) VALUES (1)
ON CONFLICT (only_row) DO UPDATE -- it outlived the table: whoever follows it must see another version
SET version = v.version + 1, changed_at = clock_timestamp(), changed_by = session_user;

-- With the rights of its owner: who may change limits need not be able to write versions.
CREATE OR REPLACE FUNCTION rate_limit_config_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $body$
BEGIN
    INSERT INTO rate_limit_config_version AS v (version) VALUES (1)
    ON CONFLICT (only_row) DO UPDATE
    SET version = v.version + 1, changed_at = clock_timestamp(), changed_by = session_user;
    PERFORM pg_notify('config_updates', 'rate_limit_config');
    RETURN NULL;
END
$body$;

DROP TRIGGER IF EXISTS rate_limit_config_changed ON rate_limit_config;
CREATE TRIGGER rate_limit_config_changed
AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON rate_limit_config
FOR EACH STATEMENT EXECUTE FUNCTION rate_limit_config_changed();

-- What must hold between the rows of an endpoint. It runs after the trigger above,
-- by name, so that nobody else can add a row that it does not see.
CREATE OR REPLACE FUNCTION rate_limit_config_rules() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $body$
DECLARE
    fault text;
BEGIN
    SELECT format('endpoint %L: %s', e.endpoint, e.reason) INTO fault
    FROM (
        SELECT c.endpoint, CASE
            WHEN count(*) > 8 THEN 'at most 8 limits'
            WHEN count(*) > 1 AND bool_or(c.window_kind IN ('unlimited', 'deny')) THEN 'unlimited or deny must be its only limit'
            WHEN min(c.burst_size) <> max(c.burst_size) THEN 'burst_size must be the same for all of its limits; set it in one statement'
            WHEN bool_or(c.shadow) <> bool_and(c.shadow) THEN 'shadow must be the same for all of its limits; set it in one statement'
            END AS reason
        FROM rate_limit_config c
        WHERE c.endpoint IN (SELECT endpoint FROM changed)
        GROUP BY c.endpoint
    ) e
    WHERE e.reason IS NOT NULL
    ORDER BY e.endpoint
    LIMIT 1;
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = fault;
    END IF;
    RETURN NULL;
END
$body$;

DROP TRIGGER IF EXISTS rate_limit_config_rules_insert ON rate_limit_config;
CREATE TRIGGER rate_limit_config_rules_insert
AFTER INSERT ON rate_limit_config REFERENCING NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION rate_limit_config_rules();

DROP TRIGGER IF EXISTS rate_limit_config_rules_update ON rate_limit_config;
CREATE TRIGGER rate_limit_config_rules_update
AFTER UPDATE ON rate_limit_config REFERENCING NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION rate_limit_config_rules();

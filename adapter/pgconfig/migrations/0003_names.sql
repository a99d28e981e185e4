-- How programs write a period: in the largest unit that divides it. one is the number
-- where it is one of these: '' as in 5/s, '1' as in skew=1s.
CREATE OR REPLACE FUNCTION rate_limit_config_span(span interval, one text) RETURNS text
LANGUAGE sql STABLE AS $body$
    SELECT CASE WHEN d.n = u.size THEN one ELSE div(d.n, u.size)::text END || u.unit
    FROM (SELECT round(extract(epoch FROM span)::numeric * 1000000) AS n) d,
        (VALUES (1, 86400000000, 'd'), (2, 3600000000, 'h'), (3, 60000000, 'm'), (4, 1000000, 's'), (5, 1000, 'ms'), (6, 1, 'us')) u (place, size, unit)
    WHERE d.n % u.size = 0
    ORDER BY u.place
    LIMIT 1
$body$;

-- As before, and also: a limit without a name goes by its canonical form, which must not
-- be the name of another limit of the endpoint.
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
            WHEN max(CASE WHEN c.name = '' THEN
                c.refill_rate || '/' || rate_limit_config_span(c.refill_period, '')
                || CASE WHEN c.capacity <> c.refill_rate THEN ' burst=' || c.capacity ELSE '' END
                || CASE WHEN c.reserve <> 0 THEN ' reserve=' || c.reserve ELSE '' END
                || CASE WHEN c.window_kind <> 'token-bucket' THEN ' ' || c.window_kind ELSE '' END
                || CASE WHEN c.skew <> '0' THEN ' skew=' || rate_limit_config_span(c.skew, '1') ELSE '' END
                END) = ANY (array_agg(c.name)) THEN 'the limit without a name goes by its rate, which is the name of another one: give it another name'
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

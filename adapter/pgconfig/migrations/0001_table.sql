-- One row is one limit. An endpoint has one to eight, which must all pass.
CREATE TABLE rate_limit_config (
    endpoint      text     NOT NULL,                        -- 'default' is for every endpoint not named
    name          text     NOT NULL DEFAULT '',             -- '': the limit goes by its rate
    capacity      bigint,                                   -- most at once; NULL: refill_rate
    refill_rate   bigint,                                   -- tokens in each refill_period; NULL for unlimited, deny
    refill_period interval NOT NULL DEFAULT '1 second',     -- without meaning for unlimited, deny
    window_kind   text     NOT NULL DEFAULT 'token-bucket',
    reserve       bigint   NOT NULL DEFAULT 0,              -- of the capacity, for urgent calls alone
    skew          interval NOT NULL DEFAULT '0',            -- a window counts for that much longer
    burst_size    bigint   NOT NULL DEFAULT 0,              -- credit: what one process may admit unacknowledged
    shadow        boolean  NOT NULL DEFAULT false,          -- count what would be denied and let it pass
    PRIMARY KEY (endpoint, name),

    CONSTRAINT rate_limit_config_endpoint CHECK (
        octet_length(endpoint) BETWEEN 1 AND 256 AND endpoint !~ '[\u0001-\u001f\u007f-\u009f]'),
    CONSTRAINT rate_limit_config_name CHECK (
        octet_length(name) <= 64 AND name ~ '^[ -~]*$' AND name !~ '["\\]'),
    CONSTRAINT rate_limit_config_window_kind CHECK (
        window_kind IN ('token-bucket', 'aligned', 'from-first', 'rolling', 'unlimited', 'deny')),
    CONSTRAINT rate_limit_config_no_numbers CHECK (
        window_kind NOT IN ('unlimited', 'deny')
        OR capacity IS NULL AND refill_rate IS NULL AND reserve = 0 AND skew = '0'),
    CONSTRAINT rate_limit_config_refill_rate CHECK (
        window_kind IN ('unlimited', 'deny')
        OR refill_rate IS NOT NULL AND refill_rate > 0
           AND (window_kind = 'token-bucket' OR refill_rate <= 1073741824)),
    CONSTRAINT rate_limit_config_refill_period CHECK (
        extract(year FROM refill_period) = 0 AND extract(month FROM refill_period) = 0 -- of no fixed length
        AND refill_period > '0' AND refill_period <= CASE window_kind WHEN 'rolling' THEN '6 days' ELSE '365 days' END::interval),
    CONSTRAINT rate_limit_config_one_a_day_to_2e9_a_second CHECK (
        refill_rate IS NULL
        OR refill_rate <= 2000000000 * extract(epoch FROM refill_period)::numeric
           AND refill_rate::numeric * 86400 >= extract(epoch FROM refill_period)::numeric),
    CONSTRAINT rate_limit_config_capacity CHECK (
        capacity IS NULL OR capacity = refill_rate
        OR window_kind = 'token-bucket' AND capacity > 0 -- refilled within 365 days
           AND capacity * extract(epoch FROM refill_period)::numeric <= refill_rate::numeric * 31536000),
    CONSTRAINT rate_limit_config_reserve CHECK (
        reserve = 0 OR reserve > 0 AND reserve < coalesce(capacity, refill_rate)),
    CONSTRAINT rate_limit_config_skew CHECK (
        extract(year FROM skew) = 0 AND extract(month FROM skew) = 0 -- '1 month' equals '30 days'
        AND (skew = '0' OR skew > '0' AND CASE window_kind
            WHEN 'rolling' THEN refill_period + skew <= '6 days'
            WHEN 'aligned' THEN skew * 2 < refill_period
            WHEN 'from-first' THEN skew * 2 < refill_period
            ELSE false END)),
    CONSTRAINT rate_limit_config_burst_size CHECK (burst_size >= 0)
);

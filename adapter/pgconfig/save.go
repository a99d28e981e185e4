package pgconfig

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tickgate/tickgate/policy"
)

// Save makes set the content of the table rate_limit_config, in one transaction:
// every limit that set does not have goes. Limits without a name get their canonical
// form as name from the second one of an endpoint on, which is what they go by anyway.
// The set must be valid, and its periods and skews whole microseconds.
func Save(ctx context.Context, conn *pgx.Conn, set policy.Set) error {
	c, err := toColumns(set)
	if err != nil {
		return fmt.Errorf("pgconfig: save: %w", err)
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "DELETE FROM rate_limit_config", pgx.QueryExecModeExec); err != nil {
			return err
		}
		if len(set) == 0 {
			return nil
		}
		_, err := tx.Exec(ctx, insert, c.endpoint, c.name, c.capacity, c.rate, c.period, c.window, c.reserve, c.skew, c.credit, c.shadow)
		return err
	})
	if err != nil {
		return fmt.Errorf("pgconfig: save: %w", explain(err))
	}
	return nil
}

// insert takes each column as an array, so that its triggers run once.
const insert = `
INSERT INTO rate_limit_config
    (endpoint, name, capacity, refill_rate, refill_period, window_kind, reserve, skew, burst_size, shadow)
SELECT endpoint, name, capacity, rate, period * interval '1 microsecond', window_kind, reserve,
    skew * interval '1 microsecond', credit, shadow
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::bigint[],
    $9::bigint[], $10::boolean[]) AS r (endpoint, name, capacity, rate, period, window_kind, reserve, skew, credit, shadow)`

// arrays are the columns of a table, one element for each row.
type arrays struct {
	endpoint, name, window        []string
	capacity, rate                []*int64 // nil: NULL
	period, reserve, skew, credit []int64  // periods in microseconds
	shadow                        []bool
}

func toColumns(set policy.Set) (c arrays, err error) {
	if err := set.Validate(); err != nil {
		return c, err
	}
	var faults []error
	micros := func(p policy.Policy, field string, d time.Duration) int64 {
		if d%time.Microsecond != 0 {
			faults = append(faults, &policy.ConfigError{Field: "policies(" + p.Endpoint + ")." + field, Value: d.String(),
				Reason: "must be whole microseconds: PostgreSQL knows no shorter ones"})
		}
		return d.Microseconds()
	}
	for _, p := range set {
		unnamed := false
		for _, l := range p.Limits {
			name, period := l.Name, l.Per
			if name == "" && unnamed {
				name = l.Label()
			}
			unnamed = unnamed || l.Name == ""
			var capacity, rate *int64
			if l.Window == policy.Unlimited || l.Window == policy.Deny {
				period = time.Second // without meaning
			} else {
				most := l.Capacity()
				capacity, rate = &most, &l.Tokens
			}
			c.endpoint, c.name, c.window = append(c.endpoint, p.Endpoint), append(c.name, name), append(c.window, l.Window.String())
			c.capacity, c.rate = append(c.capacity, capacity), append(c.rate, rate)
			c.period, c.skew = append(c.period, micros(p, "per", period)), append(c.skew, micros(p, "skew", l.Skew))
			c.reserve, c.credit, c.shadow = append(c.reserve, l.Reserve), append(c.credit, p.Credit), append(c.shadow, p.Shadow)
		}
	}
	return c, errors.Join(faults...)
}

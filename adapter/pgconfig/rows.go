package pgconfig

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/tickgate/tickgate/adapter/pgconfig/policyfile"
	"github.com/tickgate/tickgate/policy"
)

// row is one row of the table, as text: what the columns hold is judged here, also
// where somebody took the constraints away.
type row struct {
	endpoint, name string
	window         string
	capacity, rate *string // nil: NULL
	period, skew   string  // seconds
	calendar       string  // whether there are months or years in period, then in skew: "ft"
	reserve, burst string
	shadow         bool
}

// toSet makes the rows of a table, in the order of endpoints, a valid set, or
// returns every fault as a [*policy.ConfigError] with the column as field.
func toSet(rows []row) (policy.Set, error) {
	set := policy.Set{}
	var faults []error
	at := make([][]int, 0, len(rows)) // policy and limit to row
	faulty := map[string]bool{}       // fields that were found wrong already
	fault := func(i int, column, value, reason string) {
		field := rows[i].field(column)
		faulty[field] = true
		if len(faults) < maxFaults {
			faults = append(faults, &policy.ConfigError{Field: field, Value: value, Reason: reason})
		}
	}
	for i, r := range rows {
		if len(set) == 0 || set[len(set)-1].Endpoint != r.endpoint {
			set = append(set, policy.Policy{Endpoint: r.endpoint, Shadow: r.shadow})
			at = append(at, nil)
		}
		p := &set[len(set)-1]
		first := len(p.Limits) == 0
		credit := r.number("burst_size", r.burst, i, fault)
		if first {
			p.Credit = credit
		}
		switch {
		case p.Credit != credit:
			fault(i, "burst_size", r.burst, "must be the same for all limits of the endpoint")
		case p.Shadow != r.shadow:
			fault(i, "shadow", strconv.FormatBool(r.shadow), "must be the same for all limits of the endpoint")
		}
		p.Limits = append(p.Limits, r.limit(i, fault))
		at[len(at)-1] = append(at[len(at)-1], i)
	}
	for _, err := range policyfile.Faults(set.Validate()) {
		var c *policy.ConfigError
		if errors.As(err, &c) {
			var field string
			if field = columnOf(c.Field, at, rows); faulty[field] {
				continue // by its form, so its meaning is not to be judged
			}
			err = &policy.ConfigError{Field: field, Value: c.Value, Reason: c.Reason}
		}
		if len(faults) < maxFaults {
			faults = append(faults, err)
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return set, nil
}

// maxFaults bounds an error: a hostile table must not make one of many megabytes.
const maxFaults = 1000

type faultFunc func(i int, column, value, reason string)

// limit makes a row a limit. A fault of form is reported; the zero value takes its place.
func (r row) limit(i int, fault faultFunc) policy.Limit {
	l := policy.Limit{Name: r.name}
	var err error
	if l.Window, err = policy.ParseWindow(r.window); err != nil {
		var c *policy.ConfigError
		errors.As(err, &c)
		fault(i, "window_kind", c.Value, c.Reason)
	}
	l.Reserve = r.number("reserve", r.reserve, i, fault)
	l.Skew = r.span("skew", r.skew, r.calendar[1], i, fault)
	if l.Window == policy.Unlimited || l.Window == policy.Deny {
		for column, v := range map[string]*string{"refill_rate": r.rate, "capacity": r.capacity} {
			if v != nil {
				fault(i, column, *v, "must be NULL for "+r.window)
			}
		}
		return l // refill_period has no meaning
	}
	l.Per = r.span("refill_period", r.period, r.calendar[0], i, fault)
	if r.rate == nil {
		fault(i, "refill_rate", "NULL", "must be the tokens that come back in each refill_period")
	} else {
		l.Tokens = r.number("refill_rate", *r.rate, i, fault)
	}
	if r.capacity != nil {
		l.Burst = r.number("capacity", *r.capacity, i, fault)
		switch {
		case l.Burst == 0 && *r.capacity == "0":
			fault(i, "capacity", "0", "must be above zero, or NULL for the refill_rate")
		case l.Burst == l.Tokens:
			l.Burst = 0 // the same, as policies write it
		}
	}
	return l
}

// number reads a whole number.
func (r row) number(column, text string, i int, fault faultFunc) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		fault(i, column, text, "must be a whole number below 2^63")
		return 0
	}
	return n
}

// span reads seconds with microseconds. What is longer than any period may be is
// returned as a little longer than that.
func (r row) span(column, text string, calendar byte, i int, fault faultFunc) time.Duration {
	if calendar == 't' {
		fault(i, column, text+" s", "must not have months or years, whose length varies: write days")
		return 0
	}
	// Within a year a float64 of seconds is exact to a hundredth of a microsecond.
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(s) {
		fault(i, column, text, "must be an interval such as '10 seconds'")
		return 0
	}
	most := (policy.MaxPer + time.Microsecond).Seconds()
	s = max(-most, min(s, most))
	return time.Duration(math.Round(s*1e6)) * time.Microsecond
}

// field says where in the table a value is: rate_limit_config["order.new" "hour"].capacity.
func (r row) field(column string) string {
	key := quote(r.endpoint)
	if r.name != "" {
		key += " " + quote(r.name)
	}
	return "rate_limit_config[" + key + "]." + column
}

// quote shows the beginning of any text on one line.
func quote(s string) string {
	const most = 80
	if len(s) <= most {
		return strconv.Quote(s)
	}
	cut := most
	for cut > most-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strconv.Quote(s[:cut]) + "..."
}

// path matches the field of a fault in a set. An endpoint may hold anything, also
// what looks like the rest of a path, but never the last parenthesis.
var path = regexp.MustCompile(`(?s)^policies\[(\d+)\](?:\(.*\))?(?:\.limits\[(\d+)\])?(?:\.(\w+))?$`)

// columns are the names of a policy's and a limit's fields in the table.
var columns = map[string]string{
	"tokens": "refill_rate", "per": "refill_period", "burst": "capacity", "window": "window_kind", "credit": "burst_size",
}

// columnOf turns the field of a fault in a set into the column of a row.
func columnOf(field string, at [][]int, rows []row) string {
	m := path.FindStringSubmatch(field)
	if m == nil {
		return field
	}
	p, _ := strconv.Atoi(m[1])
	l, _ := strconv.Atoi(m[2]) // 0 where it is the policy as a whole
	column, ok := columns[m[3]]
	if !ok {
		column = m[3]
	}
	return rows[at[p][l]].field(column)
}

// errEmpty is the fault of a table without rows.
var errEmpty = errors.New("the table rate_limit_config is empty: fill it, or allow an empty one on purpose")

// errRows is the fault of a table that is too long.
func errRows(most int) error {
	return fmt.Errorf("the table rate_limit_config has more than %d rows: remove what is not used", most)
}

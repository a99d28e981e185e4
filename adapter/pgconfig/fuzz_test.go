package pgconfig

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/pgconfig/policyfile"
)

// Whatever the columns hold, rows are a valid set or an error.
func FuzzRows(f *testing.F) {
	f.Add("a", "", "token-bucket", "100", "100", "1.000000", "0", "ff", "0", "0", false)
	f.Add("a).limits[0].per", "n", "rolling", "", "10", "1e300", "-0", "tf", "-1", "9223372036854775808", true)
	f.Fuzz(func(t *testing.T, endpoint, name, window, capacity, rate, period, skew, calendar, reserve, burst string, shadow bool) {
		r := row{endpoint: endpoint, name: name, window: window, capacity: &capacity, rate: &rate, period: period, skew: skew,
			calendar: calendar, reserve: reserve, burst: burst, shadow: shadow}
		if capacity == "" {
			r.capacity = nil
		}
		if len(calendar) != 2 { // it is made by the query
			r.calendar = "ff"
		}
		set, err := toSet([]row{r, good("other")})
		if err == nil {
			require.NoError(t, set.Validate())
			return
		}
		require.Nil(t, set)
		for _, e := range policyfile.Faults(err) {
			require.NotContains(t, e.Error(), "\n")
		}
	})
}

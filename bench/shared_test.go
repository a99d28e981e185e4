package bench

import (
	"testing"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// benchmarkShared measures the decision on a budget that is shared with other
// processes, beside the same limit that is not. So much credit is given that none has
// to be settled while it is measured.
func benchmarkShared(b *testing.B) {
	const most = 1 << 28
	for _, c := range []struct {
		path string
		mode tickgate.BudgetMode
	}{{"on-credit", tickgate.CreditMode}, {"on-lease", tickgate.LeaseMode}} {
		b.Run("path="+c.path+"/clock=caller/keys=1/outcome=allow/g=1", func(b *testing.B) {
			set := policy.Set{{Endpoint: endpointName, Limits: []policy.Limit{{Tokens: 2_000_000, Per: time.Second, Burst: most}}}}
			g, err := tickgate.New(tickgate.Config{Policies: set, Clock: runtimeClock()})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { closeGate(b, g) })
			ledger, err := g.Share([]tickgate.Budget{{Endpoint: endpointName, Mode: c.mode, Credit: most}})
			if err != nil {
				b.Fatal(err)
			}
			h, err := g.Handle("session-0001", endpointName)
			if err != nil {
				b.Fatal(err)
			}
			now := clock.Time(time.Hour)
			h.AllowAt(now, 1)
			ledger.Collect(func(a tickgate.Account) {
				if c.mode == tickgate.LeaseMode {
					ledger.Open(a)
					ledger.Settle(a, tickgate.Settlement{Grant: most, Until: now.Add(24 * time.Hour), Done: true})
				}
			})
			denied := 0
			b.ReportAllocs()
			for b.Loop() {
				now += 1000
				if !h.AllowAt(now, 1) {
					denied++
				}
			}
			if denied > 0 {
				b.Fatalf("%d of %d calls were denied", denied, b.N)
			}
		})
	}
}

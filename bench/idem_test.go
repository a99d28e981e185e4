package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/idem"
)

// BenchmarkIdem measures what a retry or a duplicate costs: a window of client order
// ids of 20 bytes, and a store of results. The caller has read the clock.
func BenchmarkIdem(b *testing.B) {
	for _, c := range []struct {
		name string
		ids  int
	}{{"256", 256}, {"64k", 1 << 16}} {
		ids := make([]string, c.ids)
		for i := range ids {
			ids[i] = fmt.Sprintf("ORD-20261130-%07d", i)
		}
		window := func(b *testing.B) *idem.Window {
			w, err := idem.NewWindow(idem.WindowConfig{TTL: time.Hour, Capacity: 2 * c.ids, Clock: clock.NewManual(0)})
			if err != nil {
				b.Fatal(err)
			}
			return w
		}
		b.Run("op=window-add/keys="+c.name+"/outcome=duplicate/g=1", func(b *testing.B) {
			w := window(b)
			for _, id := range ids {
				w.AddAt(0, id)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if w.AddAt(0, ids[i&(c.ids-1)]) != idem.Duplicate {
					b.Fatal("not seen")
				}
			}
		})
		b.Run("op=window-add/keys="+c.name+"/outcome=fresh/g=1", func(b *testing.B) {
			w, now := window(b), clock.Time(0)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i&(c.ids-1) == 0 {
					now = now.Add(time.Hour) // all that were added have expired
				}
				if w.AddAt(now, ids[i&(c.ids-1)]) != idem.Fresh {
					b.Fatal("seen before")
				}
			}
		})
	}
	store, err := idem.NewStore(idem.Config{})
	if err != nil {
		b.Fatal(err)
	}
	ctx, print := context.Background(), idem.FingerprintOf("POST", "/jobs", "", nil)
	b.Run("op=key-of/keys=1/outcome=allow/g=1", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = idem.KeyOf("account-000001", "POST /jobs", "8e03978e-40d5-43e8-bc93-6894a57f9324")
		}
	})
	key := idem.KeyOf("account-000001", "POST /jobs", "8e03978e-40d5-43e8-bc93-6894a57f9324")
	b.Run("op=store-begin-release/keys=1/outcome=fresh/g=1", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c, err := store.Begin(ctx, key, print)
			if err != nil || store.Release(ctx, c.Token) != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("op=store-begin/keys=1/outcome=replay/g=1", func(b *testing.B) {
		c, err := store.Begin(ctx, key, print)
		if err != nil {
			b.Fatal(err)
		}
		if err := store.Complete(ctx, c.Token, idem.Result{Status: 202, Body: []byte(`{"job_id":"job-1"}`)}); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := store.Begin(ctx, key, print); err != nil {
				b.Fatal(err)
			}
		}
	})
}

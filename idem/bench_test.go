package idem

import (
	"fmt"
	"testing"
	"time"

	"github.com/tickgate/tickgate/clock"
)

func BenchmarkWindow(b *testing.B) {
	for _, n := range []int{256, 1 << 16} {
		ids := make([]string, n)
		for i := range ids {
			ids[i] = orderID(i) // 20 bytes
		}
		made := func(b *testing.B) *Window {
			w, err := NewWindow(WindowConfig{TTL: time.Hour, Capacity: 2 * n})
			if err != nil {
				b.Fatal(err)
			}
			return w
		}
		expect := func(b *testing.B, got, want Verdict) {
			if got != want {
				b.Fatal(got)
			}
		}
		name := func(op, at string) string { return fmt.Sprintf("op=%s/at=%s/ids=%d", op, at, n) }
		b.Run(name("duplicate", "caller"), func(b *testing.B) {
			w, i := made(b), 0
			for _, id := range ids {
				w.AddAt(0, id)
			}
			for b.Loop() {
				expect(b, w.AddAt(0, ids[i]), Duplicate)
				i = (i + 1) % n
			}
		})
		b.Run(name("duplicate", "clock"), func(b *testing.B) {
			w, i := made(b), 0
			for _, id := range ids {
				w.Add(id)
			}
			for b.Loop() {
				expect(b, w.Add(ids[i]), Duplicate)
				i = (i + 1) % n
			}
		})
		b.Run(name("fresh-expired", "caller"), func(b *testing.B) {
			w, i, now := made(b), 0, clock.Time(0)
			for b.Loop() {
				expect(b, w.AddAt(now, ids[i]), Fresh)
				if i++; i == n {
					i, now = 0, now.Add(time.Hour)
				}
			}
		})
		b.Run(name("fresh+release", "caller"), func(b *testing.B) {
			w, i := made(b), 0
			for b.Loop() {
				expect(b, w.AddAt(0, ids[i]), Fresh)
				w.ReleaseAt(0, ids[i])
				i = (i + 1) % n
			}
		})
		b.Run(name("fresh+release", "clock"), func(b *testing.B) {
			w, i := made(b), 0
			for b.Loop() {
				expect(b, w.Add(ids[i]), Fresh)
				w.ReleaseAt(0, ids[i])
				i = (i + 1) % n
			}
		})
	}
}

func BenchmarkStore(b *testing.B) {
	s, err := NewStore(Config{MaxRecords: 1000})
	if err != nil {
		b.Fatal(err)
	}
	key := keyOf(1)
	b.Run("op=begin+release", func(b *testing.B) {
		for b.Loop() {
			c, _ := s.Begin(ctx, key, printA)
			if s.Release(ctx, c.Token) != nil {
				b.Fatal()
			}
		}
	})
	b.Run("op=replay", func(b *testing.B) {
		c, _ := s.Begin(ctx, key, printA)
		if s.Complete(ctx, c.Token, *aResult()) != nil {
			b.Fatal()
		}
		for b.Loop() {
			if _, err := s.Begin(ctx, key, printA); err != nil {
				b.Fatal(err)
			}
		}
	})
}

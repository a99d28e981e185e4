package clock

import "testing"

var sink Time

func BenchmarkNow(b *testing.B) {
	coarse, err := NewCoarse(MaxCoarseStep)
	if err != nil {
		b.Fatal(err)
	}
	defer coarse.Close()
	clocks := []struct {
		name  string
		clock Clock
	}{
		{"runtime", Runtime()},
		{"coarse", coarse},
		{"manual", NewManual(0)},
		{"default", Default()},
	}
	for _, c := range clocks {
		b.Run("clock="+c.name, func(b *testing.B) {
			for b.Loop() {
				sink = c.clock.Now()
			}
		})
	}
	t, ok := Default().(*TSC)
	if !ok {
		return
	}
	b.Run("clock=tsc", func(b *testing.B) {
		for b.Loop() {
			sink = t.Now()
		}
	})
	b.Run("clock=tsc/order=none", func(b *testing.B) {
		for b.Loop() {
			sink = t.NowUnordered()
		}
	})
}

func BenchmarkUnixNano(b *testing.B) {
	c, w := Default(), SystemWall()
	b.Run("at=fixed", func(b *testing.B) {
		at := c.Now()
		for b.Loop() {
			sink = Time(w.UnixNano(at))
		}
	})
	b.Run("at=now", func(b *testing.B) {
		for b.Loop() {
			sink = Time(w.UnixNano(c.Now()))
		}
	})
}

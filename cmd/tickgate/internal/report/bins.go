package report

import (
	"cmp"
	"slices"
)

// maxBins bounds how many steps a plot has from its first to its last.
const maxBins = 480

// widths are the spans a bin may have, in ns. Each divides the next, so that
// bins merge without being cut; most are spans people read a clock in.
var widths = [...]int64{
	1, 10, 100,
	1e3, 10e3, 100e3,
	1e6, 10e6, 100e6,
	1e9, 5e9, 10e9, 30e9,
	60e9, 300e9, 600e9, 1800e9,
	3600e9, 6 * 3600e9, 24 * 3600e9,
	240 * 3600e9, 2400 * 3600e9, 24000 * 3600e9, 240000 * 3600e9,
}

// bin is what was decided in the span of one bin from start.
type bin struct {
	start           int64
	allowed, denied int64
}

// bins counts outcomes over time in at most maxBins steps of equal width,
// which widens as the times spread. Widening depends on the span alone, so the
// result does not depend on the order of arrival.
type bins struct {
	step   int // index into widths
	counts map[int64]*bin
	lo, hi int64 // least and greatest index in counts
}

func (b *bins) width() int64 { return widths[b.step] }

func (b *bins) add(at int64, allowed bool) {
	i := floorDiv(at, b.width())
	if b.counts == nil {
		b.counts = map[int64]*bin{}
		b.lo, b.hi = i, i
	}
	for max(b.hi, i)-min(b.lo, i) >= maxBins && b.step < len(widths)-1 {
		b.widen()
		i = floorDiv(at, b.width())
	}
	b.lo, b.hi = min(b.lo, i), max(b.hi, i)
	c := b.counts[i]
	if c == nil {
		c = &bin{start: i * b.width()}
		b.counts[i] = c
	}
	if allowed {
		c.allowed++
	} else {
		c.denied++
	}
}

func (b *bins) widen() {
	b.step++
	b.lo, b.hi = floorDiv(b.lo*widths[b.step-1], b.width()), floorDiv(b.hi*widths[b.step-1], b.width())
	b.counts = merge(b.counts, b.width())
}

// merge adds bins up into wider ones.
func merge(from map[int64]*bin, width int64) map[int64]*bin {
	to := make(map[int64]*bin, len(from))
	for _, c := range from {
		i := floorDiv(c.start, width)
		if w := to[i]; w == nil {
			to[i] = &bin{i * width, c.allowed, c.denied}
		} else {
			w.allowed += c.allowed
			w.denied += c.denied
		}
	}
	return to
}

// sorted returns the bins that are not empty, by time.
func (b *bins) sorted() []bin {
	out := make([]bin, 0, len(b.counts))
	for _, c := range b.counts {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(x, y bin) int { return cmp.Compare(x.start, y.start) })
	return out
}

// floorDiv returns the greatest integer not above a/b, for b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

package report

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/numeral"
)

func TestWidthsDivideTheNext(t *testing.T) {
	for i := 1; i < len(widths); i++ {
		require.Zero(t, widths[i]%widths[i-1], widths[i])
	}
}

// TestBins: bounded in number, complete in count, and the same whatever the
// order of arrival.
func TestBins(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, span := range []int64{1, 1e3, 1e9, 26458e9, 3e14, 1 << 62} {
		times := make([]int64, 2000)
		for i := range times {
			times[i] = rng.Int64N(span)
		}
		var b bins
		for i, at := range times {
			b.add(at, i%3 > 0)
		}
		series := b.sorted()
		require.LessOrEqual(t, (series[len(series)-1].start-series[0].start)/b.width(), int64(maxBins-1))
		allowed, denied := int64(0), int64(0)
		for _, s := range series {
			allowed, denied = allowed+s.allowed, denied+s.denied
			require.Zero(t, s.start%b.width())
		}
		require.EqualValues(t, 1333, allowed)
		require.EqualValues(t, 667, denied)

		var back bins
		for i := len(times) - 1; i >= 0; i-- {
			back.add(times[i], i%3 > 0)
		}
		require.Equal(t, series, back.sorted())
	}
}

func TestNames(t *testing.T) {
	require.Equal(t, "1 minute", spanName(60e9))
	require.Equal(t, "30 minutes", spanName(1800e9))
	require.Equal(t, "10 nanoseconds", spanName(10))
	require.Equal(t, []int64{2, 2, 4, 6, 10, 12, 120}, []int64{niceTop(1), niceTop(2), niceTop(3), niceTop(5), niceTop(9), niceTop(11), niceTop(101)})
	require.Equal(t, "-1,234,567", numeral.Comma(-1234567))
	require.Equal(t, "123", numeral.Comma(123))
	require.Equal(t, []string{"0.00%", "<0.01%", "50.00%", ">99.99%", "100.00%"}, []string{percent(0), percent(1e-6), percent(.5), percent(.999999), percent(1)})
	require.Equal(t, "09:30:00.017", stamp(34200_017459617, false, 3))
	require.Equal(t, "2010-12-24 08:38:59.052372053", stamp(1293179939052372053, true, 9))
}

package denials

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func logOf(t testing.TB, cfg Config) *Log {
	t.Helper()
	l, err := New(cfg)
	require.NoError(t, err)
	return l
}

func denial(key string, after time.Duration) *Denial {
	return &Denial{At: start.Add(after), APIKey: key, Endpoint: "orders", Limit: "hour", Reason: tickgate.Limited, Cost: 1, RetryAfter: time.Second, Version: "7"}
}

func TestConfigFaults(t *testing.T) {
	_, err := New(Config{Recent: -1, Keys: 1 << 17, Period: -1})
	require.ErrorContains(t, err, "Recent")
	require.ErrorContains(t, err, "Keys")
	require.ErrorContains(t, err, "Period")
}

// The newest come first, and the oldest give way.
func TestRecent(t *testing.T) {
	l := logOf(t, Config{Recent: 3, ShowKeys: true})
	require.Empty(t, l.Recent(10))
	for i := range 5 {
		l.Add(denial(strconv.Itoa(i), time.Duration(i)))
		var keys []string
		for _, r := range l.Recent(10) {
			keys = append(keys, r.Key)
		}
		require.Equal(t, [][]string{{"0"}, {"1", "0"}, {"2", "1", "0"}, {"3", "2", "1"}, {"4", "3", "2"}}[i], keys)
	}
	require.Equal(t, uint64(5), l.Total())
	require.Len(t, l.Recent(1), 1)
	require.Empty(t, l.Recent(-1))
	r := l.Recent(1)[0]
	require.Equal(t, Reject{Denial{start.Add(4), "", "", "orders", "hour", tickgate.Limited, 1, time.Second, "7"}, "4"}, r)
}

// Without ShowKeys no key is kept, and the hash of one process says nothing in another.
func TestKeysAreHashed(t *testing.T) {
	a, b := logOf(t, Config{}), logOf(t, Config{})
	a.Add(denial("secret", 0))
	b.Add(denial("secret", 0))
	first, second := a.Recent(1)[0], b.Recent(1)[0]
	require.Regexp(t, "^[0-9a-f]{12}$", first.Key)
	require.NotEqual(t, first.Key, second.Key, "salted")
	require.Equal(t, a.Name("secret"), first.Key)
	require.NotEqual(t, a.Name("Secret"), first.Key)
	top, _ := a.Top(1, start)
	require.Equal(t, first.Key, top[0].Key)
	require.NotContains(t, fmt.Sprintf("%+v", a), "secret", "nowhere")
}

// What a client can make long is cut.
func TestLongNames(t *testing.T) {
	l := logOf(t, Config{ShowKeys: true})
	d := denial(strings.Repeat("k", 10_000), 0)
	d.Endpoint = strings.Repeat("e", 10_000)
	l.Add(d)
	r := l.Recent(1)[0]
	require.Len(t, r.Key, 256)
	require.Len(t, r.Endpoint, 256)
}

func TestTopCounts(t *testing.T) {
	l := logOf(t, Config{ShowKeys: true, Period: time.Minute})
	top, since := l.Top(3, start)
	require.Empty(t, top)
	require.True(t, since.IsZero())
	for i, n := range []int{3, 1, 5} {
		for range n {
			l.Add(denial(strconv.Itoa(i), 0))
		}
	}
	top, since = l.Top(2, start)
	require.Equal(t, start, since)
	require.Equal(t, []Key{{"", "2", 5, 5, "orders", start}, {"", "0", 3, 3, "orders", start}}, top)

	// In the next period both count; in the one after, what is left is new.
	l.Add(denial("0", time.Minute))
	top, since = l.Top(9, start.Add(time.Minute))
	require.Equal(t, start, since)
	require.Equal(t, "2 0 1", names(top))
	require.Equal(t, uint64(4), top[1].Denied)
	require.Equal(t, start.Add(time.Minute), top[1].Last)
	top, since = l.Top(9, start.Add(2*time.Minute))
	require.Equal(t, start.Add(time.Minute), since)
	require.Equal(t, []Key{{"", "0", 1, 1, "orders", start.Add(time.Minute)}}, top)
	top, _ = l.Top(9, start.Add(time.Hour))
	require.Empty(t, top, "a long time without a denial")
	l.Add(denial("9", 2*time.Hour))
	top, since = l.Top(9, start.Add(2*time.Hour))
	require.Equal(t, "9", names(top))
	require.Equal(t, start.Add(2*time.Hour), since)
}

func names(top []Key) string {
	var all []string
	for _, k := range top {
		all = append(all, k.Key)
	}
	return strings.Join(all, " ")
}

// The same key in two gates is two callers.
func TestKeysOfGates(t *testing.T) {
	l := logOf(t, Config{ShowKeys: true})
	for i, gate := range []string{"main", "envoy", "envoy"} {
		d := denial("7", time.Duration(i))
		d.Gate = gate
		l.Add(d)
	}
	top, _ := l.Top(9, start)
	require.Equal(t, []Key{{"envoy", "7", 2, 2, "orders", start.Add(2)}, {"main", "7", 1, 1, "orders", start}}, top)
	require.Equal(t, "main", l.Recent(9)[2].Gate)
}

// Against exact counts: the bounds hold for every key that is listed, and every key
// that came often enough is.
func TestTopIsBounded(t *testing.T) {
	const keys, k, n = 500, 32, 20_000
	random := rand.New(rand.NewPCG(1, 2))
	skewed := rand.NewZipf(random, 1.2, 1, keys-1)
	l := logOf(t, Config{ShowKeys: true, Keys: k, Period: time.Minute})
	exact := map[string]uint64{}
	for i := range 2 * n {
		key := strconv.FormatUint(skewed.Uint64(), 10)
		exact[key]++
		l.Add(denial(key, time.Duration(i)*time.Minute/n)) // two periods
		if i%997 == 0 {
			checkHeap(t, l.now)
		}
	}
	top, _ := l.Top(2*k, start.Add(2*time.Minute-1))
	listed := map[string]bool{}
	for i, c := range top {
		listed[c.Key] = true
		require.LessOrEqual(t, c.AtLeast, exact[c.Key], c.Key)
		require.GreaterOrEqual(t, c.Denied, exact[c.Key], c.Key)
		require.LessOrEqual(t, c.Denied-c.AtLeast, uint64(2*n/k), c.Key)
		if i > 0 {
			require.LessOrEqual(t, c.Denied, top[i-1].Denied)
		}
	}
	for key, times := range exact {
		if times > 2*n/k {
			require.True(t, listed[key], "%s came %d times", key, times)
		}
	}
	require.Equal(t, "0", top[0].Key)
}

func checkHeap(t *testing.T, all *top) {
	t.Helper()
	require.Len(t, all.of, len(all.heap))
	for i, c := range all.heap {
		require.Equal(t, i, c.at)
		require.Same(t, c.count, all.of[c.whose])
		if i > 0 {
			require.LessOrEqual(t, all.heap[(i-1)/2].n, c.n)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	l := logOf(t, Config{Recent: 16, Keys: 8, Period: time.Millisecond})
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 2000 {
				l.Add(denial(strconv.Itoa(g*i%50), time.Duration(i)*time.Microsecond))
				if i%100 == 0 {
					l.Recent(16)
					l.Top(8, start)
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, uint64(8000), l.Total())
	require.Len(t, l.Recent(99), 16)
	checkHeap(t, l.now)
	checkHeap(t, l.before)
}

// BenchmarkAdd is what a denial costs its handler: of one key, and of keys that never
// come again.
func BenchmarkAdd(b *testing.B) {
	for _, many := range []bool{false, true} {
		b.Run(fmt.Sprintf("many=%t", many), func(b *testing.B) {
			l := logOf(b, Config{})
			d := denial("a key of twenty bytes", 0)
			text := make([]byte, 8)
			for i := 0; b.Loop(); i++ {
				if many {
					d.APIKey = string(strconv.AppendInt(text[:0], int64(i), 36))
				}
				l.Add(d)
			}
		})
	}
}

package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBar(t *testing.T) {
	now := time.Unix(0, 0)
	var out strings.Builder
	b := New(&out, 1000, func() time.Time { return now })
	step := func(d time.Duration, done, requests int64) string {
		out.Reset()
		now = now.Add(d)
		b.Update(done, requests)
		return out.String()
	}
	require.Empty(t, step(200*time.Millisecond, 10, 1), "a short input shows none")
	require.Equal(t, "\r 25% [======                  ] 7 requests, 1s left", step(200*time.Millisecond, 250, 7))
	require.Empty(t, step(50*time.Millisecond, 300, 8), "not too often")
	full := "100% [========================] 9 requests, 0s left"
	require.Equal(t, "\r"+full, step(600*time.Millisecond, 2000, 9))
	out.Reset()
	b.Clear()
	require.Equal(t, "\r"+strings.Repeat(" ", len(full))+"\r", out.String())
	out.Reset()
	b.Clear()
	require.Empty(t, out.String(), "there is nothing to clear")
}

func TestBarWithoutTotal(t *testing.T) {
	now := time.Unix(0, 0)
	var out strings.Builder
	b := New(&out, 0, func() time.Time { return now })
	now = now.Add(time.Second)
	b.Update(2_500_000, 7)
	require.Equal(t, "\r7 requests, 2.5 MB read", out.String())
}

func TestNoBar(t *testing.T) {
	var b *Bar
	b.Update(1, 1)
	b.Clear()
}

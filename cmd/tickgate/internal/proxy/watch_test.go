package proxy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// armed reports whether a watch would be late one day, and disarms it.
func (w *watch) armed() bool { return w.timer.Stop() }

func TestWatch(t *testing.T) {
	w := newWatch(time.Hour, func() { t.Error("late") })
	require.True(t, w.armed())
	w.resume()
	require.True(t, w.armed())
	w.resume()
	w.pause()
	require.False(t, w.armed(), "the client is waited for")
	w.resume()
	w.end()
	require.False(t, w.armed(), "the answer is there")
	w.pause()
	w.resume()
	require.False(t, w.armed(), "and the body is read on")
	late := make(chan struct{})
	newWatch(time.Millisecond, func() { close(late) })
	<-late
}

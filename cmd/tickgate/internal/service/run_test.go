package service

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/admin"
)

// order is what happened, in its order.
type order struct {
	mu  sync.Mutex
	all []string
}

func (o *order) note(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, what)
}

// surface serves until it is told to end.
func (o *order) surface(name string, begun chan<- string) Surface {
	return Surface{Name: name, Serve: func(ctx context.Context, _ net.Listener) error {
		begun <- name
		<-ctx.Done()
		o.note(name + " ended")
		return nil
	}}
}

// TestRunEndsInOrder: callers' ports, workers, closers, the operators' port.
func TestRunEndsInOrder(t *testing.T) {
	var o order
	ready, begun := &admin.Ready{}, make(chan string, 9)
	Starting(ready)
	require.Len(t, ready.Reasons(), 1)
	operators := o.surface("operators", begun)
	hangup, reloaded := make(chan struct{}), make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Running{
			Surfaces: []Surface{o.surface("data", begun)}, Admin: &operators, Ready: ready, Log: slog.New(slog.DiscardHandler),
			Workers: []func(context.Context){func(ctx context.Context) { <-ctx.Done(); o.note("worker ended") }},
			Closers: []func(context.Context) error{
				func(ctx context.Context) error { o.note("closed"); return ctx.Err() },
				func(context.Context) error { o.note("closed too"); return errors.New("not all was told") },
			},
			Hangup: hangup, Reload: func(context.Context) { close(reloaded) },
		})
	}()
	<-begun
	<-begun
	hangup <- struct{}{}
	<-reloaded
	require.Empty(t, ready.Reasons())
	stop()
	require.EqualError(t, <-ended, "not all was told")
	require.Equal(t, []string{"data ended", "worker ended", "closed", "closed too", "operators ended"}, o.all)
	require.Equal(t, "shutting down", ready.Reasons()[0].Reason)
}

// TestRunEndsWithASurface: one that fails ends all, and each fault is told.
func TestRunEndsWithASurface(t *testing.T) {
	var o order
	begun := make(chan string, 9)
	err := Run(t.Context(), Running{
		Surfaces: []Surface{
			o.surface("data", begun),
			{Name: "Envoy's port", Serve: func(context.Context, net.Listener) error { return errors.New("broken") }},
		},
		Log: slog.New(slog.DiscardHandler),
	})
	require.EqualError(t, err, "Envoy's port: broken")
	require.Equal(t, []string{"data ended"}, o.all)
}

func TestReloadable(t *testing.T) {
	version, fault := "2 keys", error(nil)
	r := NewReloadable("keys", "1 keys", slog.New(slog.DiscardHandler), func() (string, error) { return version, fault })
	require.Equal(t, "1 keys", r.source().Version)
	r.Reload(t.Context())
	require.Equal(t, "2 keys", r.source().Version)
	version, fault = "", errors.New("gone")
	r.Reload(t.Context())
	now := r.source()
	require.Equal(t, "2 keys", now.Version, "the last good one")
	require.Equal(t, []uint64{2, 1}, []uint64{now.Applied, now.Refused})
	require.EqualError(t, now.LastError, "gone")
	version, fault = "3 keys", nil
	r.Reload(t.Context())
	require.NoError(t, r.source().LastError)
}

func TestServer(t *testing.T) {
	for url, want := range map[string]string{
		"redis://u:p@h:1/0?x=y": "redis://h:1/0", "rediss://:a@b/c@h": "rediss://h", "unix:///run/r.sock": "unix:///run/r.sock",
		"redis://a,b:2": "redis://a,b:2", "s3cret": "",
	} {
		require.Equal(t, want, Server(url))
	}
}

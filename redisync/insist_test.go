package redisync

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stubborn is a transport that answers each call at its n-th try.
type stubborn struct {
	after int
	err   error
	tried map[string]int
}

func (l *stubborn) Sync(_ context.Context, calls []Call, replies []Reply) {
	for i, c := range calls {
		if l.tried[c.Key]++; l.tried[c.Key] < l.after {
			replies[i] = Reply{Err: l.err}
		} else {
			replies[i] = Reply{Values: []int64{1}}
		}
	}
}
func (*stubborn) Call(context.Context, Call) Reply { return Reply{} }
func (*stubborn) Close()                           {}

func TestInsist(t *testing.T) {
	calls, replies := []Call{{Key: "a"}, {Key: "b"}}, make([]Reply, 2)
	l := &stubborn{after: 4, err: ErrUnknown, tried: map[string]int{}}
	e := &engine{transport: l}
	e.insist(context.Background(), calls, replies)
	require.NoError(t, replies[0].Err)
	require.NoError(t, replies[1].Err)
	require.Equal(t, 4, l.tried["a"])

	l = &stubborn{after: 4, err: ErrReadOnly, tried: map[string]int{}}
	e.transport = l
	e.insist(context.Background(), calls, replies)
	require.ErrorIs(t, replies[0].Err, ErrReadOnly)
	require.Equal(t, 1, l.tried["a"], "it will not change")

	l = &stubborn{after: 1 << 30, err: ErrDown, tried: map[string]int{}}
	e.transport = l
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	e.insist(ctx, calls, replies)
	require.ErrorIs(t, replies[0].Err, ErrDown)
}

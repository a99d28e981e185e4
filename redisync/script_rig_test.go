package redisync

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// rig is the script on a real server, called one call at a time.
type rig struct {
	t      testing.TB
	srv    *redistest.Server
	client *Client
}

func newRig(t testing.TB) *rig {
	var owner redistest.T = t
	if f, ok := t.(*testing.F); ok {
		owner = fuzzing{f}
	}
	srv := redistest.Start(owner, redistest.Options{})
	client, err := Dial(t.Context(), srv.URL())
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return &rig{t, srv, client}
}

func (r *rig) call(key, mark string, args []string) []int64 {
	reply := r.client.Call(soon(r.t, 5*time.Second), Call{Key: key, Mark: mark, Args: args})
	require.NoError(r.t, reply.Err)
	return reply.Values
}

func (r *rig) credit(key string, a CreditArgs) CreditReply {
	reply, err := ParseCredit(r.call(key, "", a.Args()))
	require.NoError(r.t, err)
	return reply
}

func (r *rig) take(key string, a TakeArgs) TakeReply {
	reply, err := ParseTake(r.call(key, "", a.Args()))
	require.NoError(r.t, err)
	return reply
}

func (r *rig) lease(key, mark string, a LeaseArgs) LeaseReply {
	reply, err := ParseLease(r.call(key, mark, a.Args()))
	require.NoError(r.t, err)
	return reply
}

func (r *rig) mark(key string, age time.Duration) MarkReply {
	reply, err := ParseMark(r.call(key, "", MarkArgs{Age: age.Milliseconds(), TTL: MarkTTL}.Args()))
	require.NoError(r.t, err)
	return reply
}

// pass has time go by for a budget: everything it says of the past is put back.
func (r *rig) pass(key string, d time.Duration) {
	us, s := d.Microseconds(), int64(d/time.Second)
	fields := r.srv.Map("HGETALL", key)
	put := []string{"HSET", key}
	back := func(text string, by int64) string {
		n, err := strconv.ParseInt(text, 10, 64)
		require.NoError(r.t, err)
		return dec(n - by)
	}
	for name, v := range fields {
		parts := strings.Split(v, ":")
		last := len(parts) - 1
		switch {
		case name == "t":
			parts[0] = back(parts[0], us)
		case name == "k":
			parts[0] = back(parts[0], s)
		case name == "h", last == 5:
			parts[last] = back(parts[last], us)
		case last == 2 && len(name) >= 4:
			parts[last] = back(parts[last], s)
		default:
			continue
		}
		put = append(put, name, strings.Join(parts, ":"))
	}
	if len(put) > 2 {
		r.srv.Must(put...)
	}
}

func keysOf(m map[string]string) []string {
	var k []string
	for name := range m {
		k = append(k, name)
	}
	return k
}

func filter(all []string, want string) []string {
	var out []string
	for _, s := range all {
		if s == want {
			out = append(out, s)
		}
	}
	return out
}

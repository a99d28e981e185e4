package redisync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/tickgate/tickgate/idem"
)

// What an [Idem] is made with unless told otherwise.
const (
	DefaultIdemPrefix   = "tickgate:idem"
	DefaultIdemTimeout  = time.Second
	DefaultIdemMaxValue = 1 << 20
)

const (
	maxIdemPrefix  = 200
	minIdemTimeout = time.Millisecond
	maxIdemTimeout = time.Minute
	maxIdemValue   = 64 << 20

	// maxIdemSpan bounds leases and TTLs, so that twice one after now, in
	// microseconds, is below 2^53: a script's numbers are exact up to there.
	maxIdemSpan = 100 * 365 * 24 * time.Hour
)

// IdemConfig says where an [Idem] keeps its records. One of URL and Client is
// needed.
type IdemConfig struct {
	// URL of the Redis, as [Config] has it. The connections are closed by Close.
	URL string

	// Client, unless nil, is used instead, and left open by Close.
	Client rueidis.Client

	// Prefix and a colon come before every key's digest in Redis, up to 200 bytes.
	// Stores that are to share records have the same one. "": "tickgate:idem".
	Prefix string

	// Timeout is the longest that a call may take, if its context does not end
	// earlier, all its attempts included: 1 ms to 1 minute. 0: 1 s. A Complete that
	// Redis did not answer in it may be called again.
	Timeout time.Duration

	// MaxValue is the most bytes that Complete takes as a result, as encoded by
	// [idem.Store], 1 to 2^26. More is ErrFull. 0: 1 MiB.
	MaxValue int

	// AllowEviction says that it is known that this Redis drops keys when its memory
	// is full, and with them results whose TTL is not over, and what is in flight:
	// the work of those is done twice. Unless it is set, NewIdem returns an error for
	// a Redis with maxmemory and a policy other than noeviction.
	AllowEviction bool

	// Log is told once of what could not be found out at the start. nil: nobody.
	Log *slog.Logger
}

// Idem is the backend of [idem.Store] in Redis, for processes that share their
// records, and for a process whose restart must not make duplicates.
//
// A record is one key, with a TTL from the first on: an in-flight one is dropped
// after two leases, a released one likewise, a done one when its own TTL is over.
// Every step is one script call on one key, timed by the server. Fences are the
// server's time in microseconds, or one more than the key's last fence where that
// is more: they grow over expiry and over restarts of this process. They do unless
// the server's clock is set back, or a replica with a slower clock takes over,
// after a record was dropped; two tokens are different even then, since each has
// a random owner.
//
// Nothing is acquired unless Redis said so: while it is away every call fails. Calls
// are sent again, while their time lasts, if the answer is lost or the server is
// not ready; sending one again does no more than sending it once. If there is no
// answer until the end, the error is [ErrUnknown], and the call may or may not have
// taken effect; any other error of this package means that it has not. For Begin,
// unknown would mean a key that nobody knows to have: it is given back in the
// background, as soon as Redis can be reached, and a Begin for the same key through
// the same Idem gets it at once. A caller whose Complete was unknown may call it
// again.
//
// A call is one round trip, and some 20 µs of the server's time. A record in flight
// takes 300 bytes there, a done one 360 and its result.
//
// Redis answers before its replicas know, and before its disk does unless told
// otherwise. Records that it loses so, in a failover or a crash, are lost: their
// owners' calls return ErrLost, and their work may be done twice.
//
// All methods may be called by any number of goroutines at once.
type Idem struct {
	client   rueidis.Client
	own      *line // the client's, if it is to be closed; else nil
	script   *idemScript
	prefix   string
	timeout  time.Duration
	maxValue int
	undo     *undoer
	attempts chan struct{} // one in it for each attempt under way

	retried, unknown atomic.Uint64
}

var _ idem.Backend = (*Idem)(nil)

// IdemStats are counts since the Idem was made.
type IdemStats struct {
	Retried uint64 // attempts after the first
	Unknown uint64 // calls that ended with ErrUnknown
	Loaded  uint64 // attempts that had to bring the script with them
	Undone  uint64 // Begins without an answer that were taken back
	Undoing int    // those that are still to be
	Kept    uint64 // those that could not be, before their lease was over
}

// Begin is as [idem.Backend] says. It returns ctx's error if ctx is done already.
// It wraps idem.ErrFull if Redis is out of memory.
func (b *Idem) Begin(ctx context.Context, key idem.Key, print idem.Fingerprint, lease time.Duration) (idem.Entry, error) {
	if err := ctx.Err(); err != nil {
		return idem.Entry{}, err
	}
	owner := rand.Uint64()
	r, err := b.call(ctx, "Begin", key, []string{
		"b", hex64(owner), micros(lease), string(print[:]), b.undo.owners(key),
	})
	if errors.Is(err, ErrUnknown) {
		b.unknown.Add(1)
	}
	if r.unsure && r.code != codeAcquired {
		b.undo.add(key, owner, lease)
	}
	if err != nil {
		return idem.Entry{}, err
	}
	switch r.code {
	case codeAcquired:
		return idem.Entry{State: idem.Acquired, Token: idem.NewToken(key, owner, uint64(r.number))}, nil
	case codeInFlight:
		return idem.Entry{State: idem.InFlight, After: time.Duration(r.number) * time.Microsecond}, nil
	case codeDone:
		return idem.Entry{State: idem.Done, Value: r.value}, nil
	case codeMismatch:
		return idem.Entry{State: idem.Mismatch}, nil
	}
	return idem.Entry{}, b.refused(key, r.code)
}

// Complete is as [idem.Backend] says. It wraps idem.ErrFull if value is larger than
// MaxValue, or Redis out of memory; results of up to idem.RoomyResult bytes are
// kept even then. That ctx is cancelled does not stop it, its deadline does: work
// that was done is better kept.
func (b *Idem) Complete(ctx context.Context, token idem.Token, value []byte, ttl time.Duration) error {
	if len(value) > b.maxValue {
		return &idemFullError{"redisync: a result of " + strconv.Itoa(len(value)) + " bytes; MaxValue is " + strconv.Itoa(b.maxValue)}
	}
	ctx, cancel := uncancelled(ctx)
	defer cancel()
	return b.end(ctx, "Complete", token, "c", micros(ttl), rueidis.BinaryString(value))
}

// Release is as [idem.Backend] says. That ctx is cancelled does not stop it, its
// deadline does.
func (b *Idem) Release(ctx context.Context, token idem.Token) error {
	ctx, cancel := uncancelled(ctx)
	defer cancel()
	return b.end(ctx, "Release", token, "r", "0")
}

// Extend is as [idem.Backend] says.
func (b *Idem) Extend(ctx context.Context, token idem.Token, lease time.Duration) error {
	return b.end(ctx, "Extend", token, "e", micros(lease))
}

// end is one of the calls that a token is needed for.
func (b *Idem) end(ctx context.Context, name string, token idem.Token, step string, args ...string) error {
	r, err := b.call(ctx, name, token.Key(),
		append([]string{step, hex64(token.Owner()), fmt.Sprintf("%016d", token.Fence())}, args...))
	if errors.Is(err, ErrUnknown) {
		b.unknown.Add(1)
	}
	if err != nil {
		return err
	}
	return b.refused(token.Key(), r.code)
}

// refused is the error that a code stands for, nil for OK.
func (b *Idem) refused(key idem.Key, code int64) error {
	switch code {
	case codeOK:
		return nil
	case codeLost:
		return idem.ErrLost
	case codeFull:
		return &idemFullError{"redisync: Redis is out of memory, nothing was stored; raise its maxmemory"}
	case codeForeign:
		return fmt.Errorf("redisync: the key %s in Redis is not an idempotency record of this version; use another Prefix", b.key(key))
	}
	return fmt.Errorf("redisync: the idempotency script answered with code %d; another version of it may be at work", code)
}

// Stats returns the counts.
func (b *Idem) Stats() IdemStats {
	st := IdemStats{Retried: b.retried.Load(), Unknown: b.unknown.Load(), Loaded: b.script.loaded.Load()}
	b.undo.stats(&st)
	return st
}

// Close ends what runs in the background, and closes the connections if they are
// the Idem's own. Calls fail from then on. What is in flight stays so until its
// lease is over.
func (b *Idem) Close() error {
	b.undo.close()
	if b.own != nil {
		b.own.close()
	}
	return nil
}

func (b *Idem) key(key idem.Key) string { return b.prefix + key.String() }

func hex64(n uint64) string { return fmt.Sprintf("%016x", n) }

// micros is d in microseconds, rounded up, 1 to maxIdemSpan.
func micros(d time.Duration) string {
	d = min(max(d, time.Microsecond), maxIdemSpan)
	return strconv.FormatInt(int64((d+time.Microsecond-1)/time.Microsecond), 10)
}

// uncancelled is ctx with nothing but its values and its deadline.
func uncancelled(ctx context.Context) (context.Context, context.CancelFunc) {
	free := context.WithoutCancel(ctx)
	if end, ok := ctx.Deadline(); ok {
		return context.WithDeadline(free, end)
	}
	return free, func() {}
}

// idemFullError is idem.ErrFull with words of its own.
type idemFullError struct{ text string }

func (e *idemFullError) Error() string        { return e.text }
func (e *idemFullError) Is(target error) bool { return target == idem.ErrFull }

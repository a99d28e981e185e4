package redisync

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/tickgate/tickgate/idem"
)

//go:embed idem.lua
var idemSource string

// The codes of the script's replies.
const (
	codeOK = iota
	codeAcquired
	codeInFlight
	codeDone
	codeMismatch
	codeUndone
	codeLost
	codeFull
	codeForeign
)

// The pauses between attempts, each of which is drawn from 0 to the next.
const (
	firstPause = 2 * time.Millisecond
	lastPause  = 100 * time.Millisecond

	// leastAttempt is the least time that an attempt after the first is begun with:
	// one that is cut off is one more whose fate is unknown.
	leastAttempt = 5 * time.Millisecond
)

// maxIdemAttempts bounds what one Idem has under way. The client queues 1024
// commands a connection, and blocks beyond that whatever the deadline; an attempt
// that its caller gave up stays in that queue.
const maxIdemAttempts = 512

var errIdemClosed = errors.New("redisync: the Idem is closed")

// idemScript is the script as it is sent.
type idemScript struct {
	script
	loaded atomic.Uint64
}

// idemReply is what the script answered.
type idemReply struct {
	code, number int64
	value        []byte
	unsure       bool // an attempt before may have been executed, or be yet
}

// run runs the script once. The server knows it by its digest, unless it was
// started or flushed since: then nothing was executed, and the source is sent.
func (s *idemScript) run(c rueidis.Client, key string, args []string) (idemReply, error) {
	ctx := context.Background() // see ask
	res := c.Do(ctx, c.B().Evalsha().Sha1(s.sha).Numkeys(1).Key(key).Arg(args...).Build())
	if re, ok := rueidis.IsRedisErr(res.Error()); ok && re.IsNoScript() {
		s.loaded.Add(1)
		res = c.Do(ctx, c.B().Eval().Script(s.source).Numkeys(1).Key(key).Arg(args...).Build())
	}
	if err := res.Error(); err != nil {
		return idemReply{}, classify(err)
	}
	r, err := readIdemReply(res)
	if err != nil {
		return idemReply{}, fmt.Errorf("%w: the idempotency script's answer cannot be read: %w", ErrRefused, err)
	}
	return r, nil
}

func readIdemReply(res rueidis.RedisResult) (r idemReply, err error) {
	parts, err := res.ToArray()
	if err != nil || len(parts) == 0 {
		return r, errors.Join(err, errors.New("it is not a list"))
	}
	r.code, err = parts[0].AsInt64()
	if err == nil && len(parts) > 1 {
		r.number, err = parts[1].AsInt64()
	}
	if err == nil && len(parts) > 2 {
		r.value, err = parts[2].AsBytes()
	}
	return r, err
}

// call runs the script on key until it is answered, or the time is over. Attempts
// may be executed more than once, late, and in any order: every step of the script
// is made for that.
func (b *Idem) call(ctx context.Context, name string, key idem.Key, args []string) (idemReply, error) {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	unsure := false
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if b.undo.ctx.Err() != nil {
			return idemReply{}, errIdemClosed
		}
		r, err := b.ask(ctx, b.key(key), args)
		if err == nil {
			r.unsure = unsure
			return r, nil
		}
		unsure = unsure || errors.Is(err, ErrUnknown)
		if errors.Is(err, ErrReadOnly) && b.own != nil {
			b.own.dialer.leave() // a name may stand for another master by now
		}
		if args[0] == "r" && unsure {
			// To find it released is no error then. A list of its own: the attempt
			// before may still read its.
			args = append(args[:3:3], "1")
		}
		// Where the time is over while an attempt is under way, another would only
		// queue up behind it: attempts follow failures, not silence.
		if errors.Is(err, ErrRefused) || errors.Is(err, rueidis.ErrClosing) || !sleep(ctx, rand.N(pause)) {
			return idemReply{unsure: unsure}, callFailed(ctx, name, unsure, err)
		}
		b.retried.Add(1)
	}
}

// idemAnswer is how an attempt ended.
type idemAnswer struct {
	reply idemReply
	err   error
}

// ask makes one attempt. It returns when ctx is done; the attempt goes on until the
// client gives it up. The client is not given ctx: it would let go of what it has
// in its queue then, and others' commands would wait for a connection that this
// one's caller was too impatient for.
func (b *Idem) ask(ctx context.Context, key string, args []string) (idemReply, error) {
	if ctx.Err() != nil {
		return idemReply{}, errIdemQueue
	}
	select {
	case b.attempts <- struct{}{}:
	case <-ctx.Done():
		return idemReply{}, errIdemQueue
	}
	answered := make(chan idemAnswer, 1)
	go func() {
		r, err := b.script.run(b.client, key, args)
		<-b.attempts
		answered <- idemAnswer{r, err}
	}()
	select {
	case a := <-answered:
		return a.reply, a.err
	case <-ctx.Done():
	}
	select {
	case a := <-answered: // both were
		return a.reply, a.err
	default:
		return idemReply{}, ErrUnknown
	}
}

// errIdemQueue: the time was over before an attempt could be made.
var errIdemQueue = fmt.Errorf("%w: %d calls wait for it already, or the call had no time left", ErrDown, maxIdemAttempts)

// callFailed is the error of a call that was not answered, or answered with err.
func callFailed(ctx context.Context, name string, unsure bool, err error) error {
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w (%w)", err, cause)
	}
	switch {
	case !unsure:
		return fmt.Errorf("redisync: %s was not executed: %w", name, err)
	case errors.Is(err, ErrUnknown):
		return fmt.Errorf("redisync: %s: %w", name, err)
	}
	// The last attempt's fate is known, an earlier one's is not.
	return fmt.Errorf("redisync: %s: %w; then: %w", name, ErrUnknown, err)
}

// sleep waits for d and reports true, or false if ctx is done by then, or nearly.
func sleep(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d+leastAttempt {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

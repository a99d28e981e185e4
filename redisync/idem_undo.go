package redisync

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/tickgate/tickgate/idem"
)

// maxUndo is the most Begins that are remembered to be undone: some 200 bytes each.
// More are left to their leases.
const maxUndo = 4096

// undoer takes back what Begins may have got whose answer was lost. The owner of
// such a Begin was never told to anybody, so whoever comes first may undo it, any
// number of times: the goroutine here, which runs while there is something to
// undo, or the next Begin for the key.
type undoer struct {
	ctx    context.Context // ends with close
	cancel context.CancelFunc
	// send undoes one, and reports whether that was answered.
	send func(ctx context.Context, key idem.Key, owner uint64, lease time.Duration) bool

	mu     sync.Mutex
	dead   map[idem.Key][]deadOwner
	count  int           // of owners in dead
	done   chan struct{} // closed by the goroutine at its end; nil: none runs
	undone uint64
	kept   uint64
}

// deadOwner is an owner that gave up.
type deadOwner struct {
	owner uint64
	lease time.Duration
	until time.Time // when its lease is over, if it got one
}

func newUndoer(send func(context.Context, idem.Key, uint64, time.Duration) bool) *undoer {
	u := &undoer{send: send, dead: make(map[idem.Key][]deadOwner)}
	u.ctx, u.cancel = context.WithCancel(context.Background())
	return u
}

// owners lists the key's dead owners as the script reads them.
func (u *undoer) owners(key idem.Key) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count == 0 {
		return ""
	}
	var s strings.Builder
	for _, d := range u.dead[key] {
		s.WriteString(hex64(d.owner))
		s.WriteByte(' ')
	}
	return s.String()
}

// add has owner undone.
func (u *undoer) add(key idem.Key, owner uint64, lease time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count >= maxUndo || u.ctx.Err() != nil {
		u.kept++
		return
	}
	u.dead[key] = append(u.dead[key], deadOwner{owner, lease, time.Now().Add(lease)})
	u.count++
	if u.done == nil {
		u.done = make(chan struct{})
		go u.run(u.done)
	}
}

// run undoes until there is nothing left, one at a time: many wait only if Redis
// was away, and then it has others to answer first.
func (u *undoer) run(done chan struct{}) {
	defer close(done)
	for pause := firstPause; ; {
		key, d, ok := u.next()
		if !ok {
			return
		}
		if u.send(u.ctx, key, d.owner, d.lease) {
			u.remove(key, d, true)
			pause = firstPause
			continue
		}
		if !sleep(u.ctx, rand.N(pause)) {
			return
		}
		pause = min(2*pause, lastPause)
	}
}

// next drops what is over and returns any of the others. Without one the goroutine
// has ended.
func (u *undoer) next() (key idem.Key, d deadOwner, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	for key, ds := range u.dead {
		for _, d := range ds {
			if now.Before(d.until) {
				return key, d, true
			}
			u.drop(key, d)
			u.kept++
		}
	}
	u.done = nil
	return key, d, false
}

func (u *undoer) remove(key idem.Key, d deadOwner, undone bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.drop(key, d)
	u.undone++
}

// drop forgets d. The list is made anew: next may be going through it.
func (u *undoer) drop(key idem.Key, d deadOwner) {
	var rest []deadOwner
	for _, other := range u.dead[key] {
		if other != d {
			rest = append(rest, other)
		}
	}
	u.count--
	if u.dead[key] = rest; rest == nil {
		delete(u.dead, key)
	}
}

func (u *undoer) stats(st *IdemStats) {
	u.mu.Lock()
	defer u.mu.Unlock()
	st.Undone, st.Kept, st.Undoing = u.undone, u.kept, u.count
}

// close ends the goroutine, and waits for it.
func (u *undoer) close() {
	u.cancel()
	u.mu.Lock()
	done := u.done
	u.mu.Unlock()
	if done != nil {
		<-done
	}
}

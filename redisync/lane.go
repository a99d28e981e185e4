package redisync

import (
	"time"

	"github.com/tickgate/tickgate/clock"
)

// lane is what fails together: a Redis, or the part of a cluster that a Transport tells
// apart (see [Laner]).
//
//	up ──three batches in a row fail──▶ down ──a probe, one call, is answered──▶ up
//	                                     │ ▲
//	                                     └─┘ a probe fails: wait longer
//
// Waits are random between nothing and a bound that doubles up to a quarter of a second,
// so that nodes that lost the same Redis do not come back to it together, and yet soon one
// after the other: while one uses all of the rate again, those that are not back still
// admit their share of it. A probe is one call; a thousand nodes make a Redis that is
// back no more work than a tenth of what it can do. A lane that came up starts
// with one batch in flight, and has one more allowed by each that is answered.
type lane struct {
	down    bool
	since   clock.Time // when the first call was sent of those that failed since one was answered; 0: none
	dead    clock.Time // the same, but of those since anybody said anything: for the fuse
	asked   clock.Time // when a batch was last sent
	pulse   string     // a key of it that holds nothing; "": none is known
	next    clock.Time // down: no probe before
	probing bool
	tries   int
	window  int // batches allowed in flight
	out     int // batches in flight
}

const (
	downAfter   = 3
	backoffBase = 20 * time.Millisecond
	backoffMost = 250 * time.Millisecond
)

// answered notes that a batch had an answer, and reports whether that brought it up.
func (l *lane) answered(most int) bool {
	was := l.down
	if was {
		l.window = 1
	} else {
		l.window = min(most, l.window+1)
	}
	l.down, l.since, l.tries, l.probing = false, 0, 0, false
	return was
}

// failed notes that no call of a batch sent at sent was answered, and reports whether
// that brought the lane down. u is a random number from 0 to 1.
func (l *lane) failed(sent, now clock.Time, u float64) bool {
	was := l.down
	if l.since == 0 || sent < l.since {
		l.since = sent
	}
	l.tries++
	l.probing = false
	if l.tries < downAfter {
		return false
	}
	l.down, l.window = true, 1
	l.next = now.Add(backoff(l.tries-downAfter, u))
	return !was
}

// sign notes whether a batch sent at sent had a sign of life: any word of a server, even
// that it will not do it now.
func (l *lane) sign(there bool, sent clock.Time) {
	if there {
		l.dead = 0
	} else if l.dead == 0 || sent < l.dead {
		l.dead = sent
	}
}

// backoff is a random wait before the try after tries that failed.
func backoff(tries int, u float64) time.Duration {
	most := backoffMost
	if tries < 7 {
		most = min(most, backoffBase<<tries)
	}
	return time.Duration(u * float64(most))
}

// probe reports whether a probe may be sent.
func (l *lane) probe(now clock.Time) bool { return l.down && !l.probing && now >= l.next }

// timeout is how long to wait for a batch: eight times what nearly all take, longer
// after each failure, so that a Redis that became slow is not given up for ever.
func (l *lane) timeout(p99, most time.Duration) time.Duration {
	return min(most, max(leastTimeout, 8*p99)<<min(l.tries, 8))
}

const leastTimeout = 50 * time.Millisecond

// Laner may be implemented by a [Transport] that reaches several servers, so that one
// that fails does not hold up the accounts of the others. Keys of one lane are sent
// together, and fail together.
type Laner interface {
	Lanes() int          // how many there are, 1 to 64; constant
	Lane(key string) int // of a key, 0 to Lanes() - 1; constant
}

package venuesim

import "time"

// Ban is a time in which the venue takes no message of any class.
type Ban struct {
	Class string // of the message that caused it
	Rule  string // that was broken
	From  int64  // venue's clock
	// Until is when it is over, Never if it lasts until Readmit.
	Until int64
	// Ignored is how many messages came during it.
	Ignored int64

	length time.Duration
	renew  bool
}

// Bans returns all bans, in order; the last may still hold.
func (v *Venue) Bans() []Ban { return append([]Ban(nil), v.bans...) }

// BannedUntil reports whether the sender is banned at a time of the venue's
// clock, as far as is known by now, and until when.
func (v *Venue) BannedUntil(at int64) (until int64, banned bool) {
	if b := v.active(at); b != nil {
		return b.Until, true
	}
	return 0, false
}

// Readmit ends a ban at a time of the venue's clock, as a new login does. What
// was counted before stays counted. Without a ban it does nothing.
func (v *Venue) Readmit(at int64) {
	at = v.tick(at)
	if b := v.active(at); b != nil {
		b.Until = at
	}
}

// active returns the ban that holds at a time, nil if none does. Bans do not
// overlap: nothing is judged during one.
func (v *Venue) active(at int64) *Ban {
	if n := len(v.bans); n > 0 && at >= v.bans[n-1].From && at < v.bans[n-1].Until {
		return &v.bans[n-1]
	}
	return nil
}

// ban starts a ban and returns its end.
func (v *Venue) ban(t *tally, class string, at int64) int64 {
	b := Ban{Class: class, Rule: t.rule.Name, From: at, length: t.rule.Ban, renew: t.rule.Renew}
	if t.rule.Longest > 0 {
		for i := 0; i < t.bans && b.length < t.rule.Longest; i++ {
			b.length = time.Duration(times(int64(b.length), 2))
		}
		b.length = min(b.length, t.rule.Longest)
	}
	t.bans++
	b.Until = b.end(at)
	v.bans = append(v.bans, b)
	return b.Until
}

func (b *Ban) end(from int64) int64 {
	if b.length == 0 {
		return Never
	}
	return plus(from, int64(b.length))
}

// hit is a message during the ban.
func (b *Ban) hit(at int64) {
	b.Ignored++
	if b.renew {
		b.Until = b.end(at)
	}
}

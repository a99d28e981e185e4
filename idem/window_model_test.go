package idem

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// windowModel is a window made of a map. newest is the latest time of any call: an
// id that has expired at it may be gone, one that has not is there.
type windowModel struct {
	ids      map[string]clock.Time
	newest   clock.Time
	ttl      time.Duration
	capacity int
}

// counts returns how many ids are there for certain, and how many besides may be
// live at now.
func (m *windowModel) counts(now clock.Time) (certain, perhaps int) {
	for _, at := range m.ids {
		switch {
		case m.newest.Sub(at) < m.ttl:
			certain++
		case now.Sub(at) < m.ttl:
			perhaps++
		}
	}
	return certain, perhaps
}

func (m *windowModel) add(t testing.TB, now clock.Time, id string, got Verdict) {
	m.newest = max(m.newest, now)
	at, there := m.ids[id]
	certain, perhaps := m.counts(now)
	switch got {
	case BadID:
		require.True(t, id == "" || len(id) > 64)
		return
	case Duplicate:
		require.True(t, there && now.Sub(at) < m.ttl, "a false duplicate: %q at %d", id, now)
		return
	case Full:
		require.GreaterOrEqual(t, certain+perhaps, m.capacity, "Full with room")
	case Fresh:
		if there && m.newest.Sub(at) < m.ttl {
			certain--
		}
		require.Less(t, certain, m.capacity, "Fresh without room")
		defer func() { m.ids[id] = now }()
	default:
		t.Fatal(got)
	}
	require.False(t, id == "" || len(id) > 64)
	require.False(t, there && m.newest.Sub(at) < m.ttl, "a duplicate was not seen: %q of %d at %d", id, at, now)
	delete(m.ids, id)
}

func (m *windowModel) release(t testing.TB, now clock.Time, id string, got bool) {
	m.newest = max(m.newest, now)
	at, there := m.ids[id]
	switch {
	case got:
		require.True(t, there && now.Sub(at) < m.ttl, "released what was not there: %q", id)
	case there:
		require.False(t, m.newest.Sub(at) < m.ttl, "%q was not released", id)
	}
	delete(m.ids, id)
}

// windowScript runs operations, of three bytes each, on a window and its model.
func windowScript(t testing.TB, capacity int, ttl time.Duration, collide bool, script []byte) {
	w, _ := atNow(t, ttl, capacity)
	if collide {
		w.mask = 0
	}
	m := windowModel{map[string]clock.Time{}, -1 << 62, ttl, capacity}
	now := clock.Time(0)
	for ; len(script) >= 3; script = script[3:] {
		op, a, b := script[0], script[1], script[2]
		id := strings.Repeat(string('a'+rune(a%16)), int(b%67))
		if b%67 > 0 && b%67 < 60 {
			id = id[1:] + string('a'+rune(a>>4))
		}
		switch op % 16 {
		default:
			m.add(t, now, id, w.AddAt(now, id))
		case 10, 11, 12:
			m.release(t, now, id, w.ReleaseAt(now, id))
		case 13, 14:
			now = now.Add(ttl * time.Duration(a) / 256)
		case 15:
			now = now.Add(-ttl * time.Duration(a) / 512)
		}
	}
	held := w.sound(t)
	for id, at := range m.ids {
		if m.newest.Sub(at) < ttl {
			require.Equal(t, at, held[id], "%q", id)
		}
	}
}

func TestWindowAgainstModel(t *testing.T) {
	rounds := 300
	if testing.Short() || raceEnabled {
		rounds = 30
	}
	for seed := range rounds {
		rnd := rand.New(rand.NewPCG(uint64(seed), 3))
		script := make([]byte, 3*2000)
		for i := range script {
			script[i] = byte(rnd.Uint32())
		}
		for i := 2; i < len(script); i += 3 {
			script[i] = byte(rnd.IntN(2 + seed%20)) // few lengths: ids come again
		}
		windowScript(t, 1+rnd.IntN(1+seed), time.Duration(1+rnd.IntN(1000)), seed%2 == 0, script)
	}
}

func FuzzWindow(f *testing.F) {
	f.Add(uint16(1), uint16(10), false, []byte("\x00\x00\x01\x00\x00\x01\x0d\xff\x00\x00\x00\x01"))
	f.Add(uint16(3), uint16(100), true, []byte("\x00\x01\x01\x00\x02\x01\x00\x03\x01\x00\x04\x01\x0a\x01\x01\x0f\x80\x00\x00\x01\x01"))
	f.Fuzz(func(t *testing.T, capacity, ttl uint16, collide bool, script []byte) {
		windowScript(t, int(capacity%500)+1, time.Duration(ttl)+1, collide, script)
	})
}

package idem

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

func newMemory(t testing.TB, cfg MemoryConfig) (*Memory, *clock.Manual) {
	c := clock.NewManual(0)
	cfg.Clock = c
	m, err := NewMemory(cfg)
	require.NoError(t, err)
	return m, c
}

func plainKey(n int) (k Key) {
	binary.LittleEndian.PutUint64(k[:], uint64(n))
	return k
}

// sound asserts what must hold of a memory at rest.
func (m *Memory) sound(t *testing.T) {
	records, size := 0, int64(0)
	for i := range m.shards {
		sh := &m.shards[i]
		require.Len(t, sh.records, len(sh.order))
		next := int64(math.MaxInt64)
		for j, r := range sh.order {
			require.Equal(t, j, r.place)
			require.Same(t, r, sh.records[r.key])
			require.LessOrEqual(t, sh.order[max(j-1, 0)/2].dropAt, r.dropAt, "the order of a heap")
			require.LessOrEqual(t, r.freeAt, r.dropAt)
			next = min(next, int64(r.dropAt))
			size += RecordBytes + RoomyResult + valueBytes(r.value)
		}
		require.Equal(t, next, sh.next.Load())
		records += len(sh.order)
	}
	require.EqualValues(t, records, m.records.Load())
	require.Equal(t, size, m.bytes.Load())
}

func valueOf(b byte) []byte { return bytes.Repeat([]byte{b}, 3*int(b)) }

// Against a map that is told everything and forgets nothing.
func TestMemoryAgainstModel(t *testing.T) {
	type known struct {
		fence  uint64
		freeAt clock.Time
		print  Fingerprint
		done   bool
		gone   bool // released
		value  byte
	}
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		m, c := newMemory(t, MemoryConfig{})
		if seed%2 == 0 {
			m.shards = m.shards[:1] // where many have expired that were not dropped
		}
		model := map[Key]known{}
		var toks []Token
		for range 3000 {
			if rnd.IntN(3) == 0 {
				c.Advance(time.Duration(rnd.IntN(30)))
			}
			if rnd.IntN(50) == 0 {
				c.Advance(400) // all expire at once, too many to be dropped before they are used again
			}
			now := c.Now()
			key := plainKey(rnd.IntN(100))
			k, there := model[key]
			if rnd.IntN(2) == 0 || len(toks) == 0 {
				print := printA
				if rnd.IntN(8) == 0 {
					print = printB
				}
				lease := time.Duration(1 + rnd.IntN(100))
				e, err := m.Begin(ctx, key, print, lease)
				require.NoError(t, err)
				switch {
				case !there || k.freeAt <= now:
					require.Equal(t, Acquired, e.State)
					require.Greater(t, e.Token.Fence(), k.fence)
					model[key] = known{fence: e.Token.Fence(), freeAt: now.Add(lease), print: print}
					toks = append(toks, e.Token)
				case k.print != print:
					require.Equal(t, Entry{State: Mismatch}, e)
				case k.done:
					require.Equal(t, Entry{State: Done, Value: valueOf(k.value)}, e)
				default:
					require.Equal(t, Entry{State: InFlight, After: k.freeAt.Sub(now)}, e)
				}
				continue
			}
			tok := toks[max(0, len(toks)-1-rnd.IntN(40))]
			k = model[tok.key]
			holds := k.fence == tok.fence && !k.gone && k.freeAt > now // later it may or may not
			unsure := k.fence == tok.fence && !k.gone && k.freeAt <= now
			var err error
			var want known
			switch rnd.IntN(3) {
			case 0:
				value := byte(rnd.IntN(256))
				ttl := time.Duration(1 + rnd.IntN(300))
				err = m.Complete(ctx, tok, valueOf(value), ttl)
				if want = k; !k.done {
					want = known{fence: k.fence, freeAt: now.Add(ttl), print: k.print, done: true, value: value}
				}
			case 1:
				err = m.Release(ctx, tok)
				want = known{fence: k.fence, gone: true}
				holds = holds && !k.done
			case 2:
				lease := time.Duration(1 + rnd.IntN(100))
				err = m.Extend(ctx, tok, lease)
				want = known{fence: k.fence, freeAt: now.Add(lease), print: k.print}
				holds = holds && !k.done
			}
			switch {
			case holds:
				require.NoError(t, err)
			case !unsure:
				require.ErrorIs(t, err, ErrLost)
			}
			if err == nil {
				model[tok.key] = want
			}
			if rnd.IntN(100) == 0 {
				m.sound(t)
			}
		}
		m.sound(t)
		c.Advance(time.Hour)
		m.Sweep()
		m.sound(t)
		require.Zero(t, m.Usage().Records)
	}
}

// Expired records go as others come, from shards that nobody asks for too.
func TestMemorySweepsInPassing(t *testing.T) {
	m, c := newMemory(t, MemoryConfig{})
	for i := range 1000 {
		_, err := m.Begin(ctx, plainKey(i), printA, time.Second)
		require.NoError(t, err)
	}
	c.Advance(time.Hour)
	same := plainKey(1_000_000)
	for range 3 * minShards * (1000 / minShards) {
		_, err := m.Begin(ctx, same, printA, time.Second)
		require.NoError(t, err)
	}
	require.Less(t, m.Usage().Records, 100)
	m.sound(t)
}

func TestMemoryMakesRoomInAnyShard(t *testing.T) {
	m, c := newMemory(t, MemoryConfig{MaxRecords: 300})
	for round := range 10 {
		for i := range 300 {
			e, err := m.Begin(ctx, plainKey(1000*round+i), printA, time.Second)
			require.NoError(t, err, "round %d, record %d", round, i)
			require.Equal(t, Acquired, e.State)
		}
		_, err := m.Begin(ctx, plainKey(1000*round+999), printA, time.Second)
		require.ErrorIs(t, err, ErrFull)
		m.sound(t)
		c.Advance(2 * time.Second)
	}
}

// A clock that is set back makes records live longer, and breaks nothing.
func TestMemoryClockSetBack(t *testing.T) {
	m, c := newMemory(t, MemoryConfig{})
	c.Set(1000)
	e, err := m.Begin(ctx, plainKey(1), printA, 10)
	require.NoError(t, err)
	c.Set(0)
	again, err := m.Begin(ctx, plainKey(1), printA, 10)
	require.NoError(t, err)
	require.Equal(t, Entry{State: InFlight, After: 1010}, again)
	require.NoError(t, m.Complete(ctx, e.Token, nil, 5))
	c.Set(5)
	again, err = m.Begin(ctx, plainKey(1), printA, 10)
	require.NoError(t, err)
	require.Equal(t, Acquired, again.State)
	c.Set(math.MaxInt64)
	again, err = m.Begin(ctx, plainKey(1), printA, math.MaxInt64)
	require.NoError(t, err)
	require.Equal(t, Acquired, again.State)
	m.sound(t)
}

func heapInUse() int64 {
	var st runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&st)
	return int64(st.HeapAlloc)
}

// The records take no more than they are reckoned at, and nothing once they are
// gone.
func TestMemoryBackToBaseline(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has memory of its own")
	}
	m, c := newMemory(t, MemoryConfig{MaxRecords: 50_000})
	base := heapInUse()
	for i := range 50_000 {
		e, err := m.Begin(ctx, plainKey(i), printA, time.Second)
		require.NoError(t, err)
		require.NoError(t, m.Complete(ctx, e.Token, make([]byte, i%600), time.Minute))
	}
	full := heapInUse() - base
	require.Less(t, full, m.Usage().Bytes)
	require.Greater(t, full, m.Usage().Bytes/4, "they are there")
	t.Logf("%d records: %d bytes, reckoned at %d", m.Usage().Records, full, m.Usage().Bytes)

	c.Advance(time.Hour)
	require.Equal(t, 50_000, m.Sweep())
	require.Less(t, heapInUse()-base, int64(100_000))
	m.sound(t)
	runtime.KeepAlive(m)
}

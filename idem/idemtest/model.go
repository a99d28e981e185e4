package idemtest

import (
	"bytes"
	"math/rand/v2"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/idem"
)

// known is what the model knows of a key. It is told everything and forgets
// nothing.
type known struct {
	fence  uint64
	freeAt time.Duration
	print  idem.Fingerprint
	done   bool
	gone   bool // released
	value  byte
}

func valueOf(b byte) []byte { return bytes.Repeat([]byte{b}, 3*int(b)) }

// testModel compares random calls with the model.
func testModel(r rig) {
	rnd := rand.New(rand.NewPCG(7, 2))
	minutes := func(n int) time.Duration { return time.Duration(1+rnd.IntN(n)) * time.Minute }
	model := map[idem.Key]known{}
	var tokens []idem.Token
	now := time.Duration(0)
	advance := func(d time.Duration) {
		r.advance(d)
		now += d
	}
	for range 3000 {
		if rnd.IntN(6) == 0 {
			advance(minutes(30))
		}
		if rnd.IntN(100) == 0 {
			advance(400 * time.Minute)
		}
		key := keyOf(rnd.IntN(20))
		k, there := model[key]
		free := !there || k.gone || k.freeAt <= now
		if free && there && k.freeAt+Grain > now {
			advance(Grain) // for a backend that is late
		}
		if rnd.IntN(2) == 0 || len(tokens) == 0 {
			print := printA
			if rnd.IntN(8) == 0 {
				print = printB
			}
			span := minutes(100)
			e, err := r.Begin(ctx, key, print, span)
			require.NoError(r.t, err)
			switch {
			case free:
				require.Equal(r.t, idem.Acquired, e.State)
				require.Greater(r.t, e.Token.Fence(), k.fence)
				model[key] = known{fence: e.Token.Fence(), freeAt: now + span, print: print}
				tokens = append(tokens, e.Token)
			case k.print != print:
				require.Equal(r.t, idem.Entry{State: idem.Mismatch}, e)
			case k.done:
				require.Equal(r.t, idem.Done, e.State)
				require.True(r.t, bytes.Equal(valueOf(k.value), e.Value))
			default:
				require.Equal(r.t, idem.InFlight, e.State)
				require.InDelta(r.t, k.freeAt-now, e.After, float64(Grain))
			}
			continue
		}
		token := tokens[max(0, len(tokens)-1-rnd.IntN(40))]
		k = model[token.Key()]
		mine := k.fence == token.Fence() && !k.gone
		holds := mine && k.freeAt > now
		unsure := mine && !holds // its record may have been dropped, or not
		var err error
		var want known
		switch rnd.IntN(3) {
		case 0:
			value := byte(rnd.IntN(256))
			span := minutes(300)
			err = r.Complete(ctx, token, valueOf(value), span)
			if want = k; !k.done {
				want = known{fence: k.fence, freeAt: now + span, print: k.print, done: true, value: value}
			}
		case 1:
			err = r.Release(ctx, token)
			want = known{fence: k.fence, gone: true}
			holds = holds && !k.done
		case 2:
			span := minutes(100)
			err = r.Extend(ctx, token, span)
			want = known{fence: k.fence, freeAt: now + span, print: k.print}
			holds = holds && !k.done
		}
		switch {
		case holds:
			require.NoError(r.t, err)
		case !unsure:
			require.ErrorIs(r.t, err, idem.ErrLost)
		}
		if err == nil {
			model[token.Key()] = want
		}
	}
}

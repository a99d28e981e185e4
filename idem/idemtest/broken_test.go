package idemtest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/idem"
	"github.com/tickgate/tickgate/idem/idemtest"
)

// The variable that has a process of this test run a suite on a broken backend.
const brokenVar = "IDEMTEST_BROKEN"

// broken is a Memory with one rule that is not kept.
type broken struct {
	*idem.Memory
	rule string
	mu   sync.Mutex
	done map[idem.Token]bool
	last []byte
}

// rules are the broken ones, and the suite that must notice. A backend without a
// broken rule passes them all.
var rules = map[string]string{
	"fingerprints are not compared":      "Backend",
	"a key in flight is given again":     "Backend",
	"overtaken owners still acquire":     "Fire",
	"a lost token completes":             "Backend",
	"a lost token is said to complete":   "Fire",
	"a lost token releases":              "Backend",
	"to complete again is an error":      "Backend",
	"leases are too long":                "Backend",
	"leases are too short":               "Backend",
	"results are kept too long":          "Backend",
	"results are dropped early":          "Backend",
	"results are dropped early, at last": "Fire",
	"fences fall":                        "Backend",
	"fences fall, at last":               "Fire",
	"values end at a zero byte":          "Backend",
	"values are mixed up":                "Fire",
	"extending does nothing":             "Backend",
	"a cancelled Begin acquires":         "Backend",
	"a cancelled Complete does nothing":  "Backend",
	"it is never full":                   "Bounds",
	"any value fits":                     "Bounds",
}

func (b *broken) is(rule string) bool { return strings.TrimSuffix(b.rule, ", at last") == rule }

func (b *broken) Begin(ctx context.Context, key idem.Key, print idem.Fingerprint, lease time.Duration) (idem.Entry, error) {
	switch {
	case b.is("fingerprints are not compared"):
		print = idem.Fingerprint{}
	case b.is("leases are too long"):
		lease += lease / 2
	case b.is("leases are too short"):
		lease -= lease / 2
	case b.is("a cancelled Begin acquires"):
		ctx = context.Background()
	}
	e, err := b.Memory.Begin(ctx, key, print, lease)
	again := b.is("a key in flight is given again") || b.is("overtaken owners still acquire")
	switch {
	case again && e.State == idem.InFlight:
		e = idem.Entry{State: idem.Acquired, Token: idem.NewToken(key, 1, 1)}
	case b.is("fences fall") && e.State == idem.Acquired:
		e.Token = upsideDown(e.Token)
	case b.is("values end at a zero byte") && e.State == idem.Done:
		text, _, _ := strings.Cut(string(e.Value), "\x00")
		e.Value = []byte(text)
	case b.is("values are mixed up") && e.State == idem.Done:
		b.mu.Lock()
		e.Value = b.last
		b.mu.Unlock()
	case b.is("it is never full") && errors.Is(err, idem.ErrFull):
		return idem.Entry{State: idem.Acquired, Token: idem.NewToken(key, 1, 1)}, nil
	}
	return e, err
}

func upsideDown(t idem.Token) idem.Token { return idem.NewToken(t.Key(), t.Owner(), 1<<62-t.Fence()) }

func (b *broken) Complete(ctx context.Context, token idem.Token, value []byte, ttl time.Duration) error {
	b.mu.Lock()
	done := b.done[token]
	b.done[token] = true
	b.last = value
	b.mu.Unlock()
	switch {
	case b.is("fences fall"):
		token = upsideDown(token)
	case b.is("to complete again is an error") && done:
		return idem.ErrLost
	case b.is("results are kept too long"):
		ttl += ttl / 2
	case b.is("results are dropped early"):
		ttl -= ttl / 2
	case b.is("a cancelled Complete does nothing") && ctx.Err() != nil:
		return ctx.Err()
	}
	err := b.Memory.Complete(ctx, token, value, ttl)
	switch {
	case errors.Is(err, idem.ErrLost) && (b.is("a lost token completes") || b.is("a lost token is said to complete")):
		return nil
	case errors.Is(err, idem.ErrFull) && b.is("any value fits"):
		return b.Memory.Complete(ctx, token, nil, ttl)
	}
	return err
}

func (b *broken) Release(ctx context.Context, token idem.Token) error {
	if b.is("fences fall") {
		token = upsideDown(token)
	}
	err := b.Memory.Release(ctx, token)
	if b.is("a lost token releases") {
		return nil
	}
	return err
}

func (b *broken) Extend(ctx context.Context, token idem.Token, lease time.Duration) error {
	switch {
	case b.is("extending does nothing"):
		return nil
	case b.is("fences fall"):
		token = upsideDown(token)
	}
	return b.Memory.Extend(ctx, token, lease)
}

// TestBroken is not a test of its own: TestSuitesNotice runs it.
func TestBroken(t *testing.T) {
	suite, rule, ok := strings.Cut(os.Getenv(brokenVar), ":")
	if !ok {
		t.Skip("TestSuitesNotice runs it")
	}
	runSuite(t, suite, rule)
}

func runSuite(t *testing.T, suite, rule string) {
	make := func(cfg idem.MemoryConfig) idemtest.Maker {
		return func(t *testing.T) (idem.Backend, func(time.Duration)) {
			c := clock.NewManual(clock.Time(time.Hour))
			cfg.Clock = c
			m, err := idem.NewMemory(cfg)
			require.NoError(t, err)
			return &broken{Memory: m, rule: rule, done: map[idem.Token]bool{}}, func(d time.Duration) { c.Advance(d) }
		}
	}
	switch suite {
	case "Backend":
		idemtest.Backend(t, make(idem.MemoryConfig{}))
	case "Bounds":
		idemtest.Bounds(t, make(idem.MemoryConfig{MaxRecords: 100, MaxBytes: 100_000}), 200, 100_000)
	case "Fire":
		b, advance := make(idem.MemoryConfig{})(t)
		idemtest.Fire(t, idemtest.FireConfig{Backends: []idem.Backend{b}, Advance: advance, Keys: 50, Calls: 300})
	}
}

// Each suite passes a sound backend, and fails one with a rule broken that it is
// said to test.
func TestSuitesNotice(t *testing.T) {
	for _, suite := range []string{"Backend", "Bounds", "Fire"} {
		t.Run("Sound/"+suite, func(t *testing.T) { runSuite(t, suite, "") })
	}
	for rule, suite := range rules {
		t.Run(strings.ReplaceAll(rule, " ", "_"), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestBroken$")
			cmd.Env = append(os.Environ(), brokenVar+"="+suite+":"+rule)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "the suite did not notice: %s", out)
			require.Contains(t, string(out), "--- FAIL: TestBroken")
			require.NotContains(t, string(out), "panic:")
		})
	}
}

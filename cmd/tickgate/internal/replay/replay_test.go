package replay

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/source"
)

// fake is a machine clock that moves only by being slept on.
type fake struct {
	at    time.Time
	slept []time.Duration
}

func (f *fake) now() time.Time { return f.at }

func (f *fake) sleep(ctx context.Context, d time.Duration) error {
	f.slept = append(f.slept, d)
	f.at = f.at.Add(d)
	return ctx.Err()
}

// config replays stdin under one limit for everything.
func config(t *testing.T, limit, stdin string) (Config, *fake) {
	t.Helper()
	l, err := policy.ParseLimit(limit)
	require.NoError(t, err)
	f := &fake{at: time.Unix(1000, 0)}
	return Config{
		Files: []string{"-"}, Stdin: strings.NewReader(stdin), Top: 3, Now: f.now, Sleep: f.sleep,
		Gate: func(first clock.Time) (*tickgate.Gate, error) {
			return tickgate.New(tickgate.Config{
				Policies: policy.Set{{Endpoint: policy.DefaultEndpoint, Limits: []policy.Limit{l}}},
				MaxKeys:  1000, Clock: clock.NewManual(first), Wall: clock.NewManualWall(0),
			})
		},
	}, f
}

func TestDecidesAtRecordedTimes(t *testing.T) {
	// 1/s with room for one: what passes depends on the recorded times alone.
	cfg, f := config(t, "1/s", "10000000000,a,x\n10999999999,a,x\n11000000000,a,x\n11000000000,b,x\n")
	res, err := Run(context.Background(), cfg)
	require.NoError(t, err)
	require.EqualValues(t, 4, res.Report.Total.Requests)
	require.EqualValues(t, 1, res.Report.Total.Denied)
	require.Equal(t, map[string]int64{"limited": 1}, res.Report.Total.Reasons)
	require.Equal(t, []string{"1/s"}, res.Report.Policies[0].Limits)
	require.Empty(t, f.slept, "as fast as it goes")
}

func TestCostsAreAsked(t *testing.T) {
	cfg, _ := config(t, "10/s", "1,a,x,7\n1,a,x,4\n1,a,x,3\n1,a,x,11\n1,a,x,0\n")
	res, err := Run(context.Background(), cfg)
	require.NoError(t, err)
	require.EqualValues(t, 3, res.Report.Total.Allowed)
	require.Equal(t, map[string]int64{"limited": 1, "too costly": 1}, res.Report.Total.Reasons)
}

// TestRecordedSpeed: gaps are kept, times that go back follow at once, and the
// decisions are those of the other speed.
func TestRecordedSpeed(t *testing.T) {
	const text = "5000000000,a,x\n5100000000,a,x\n4000000000,a,x\n8000000000,a,x\n"
	cfg, f := config(t, "1/s", text)
	cfg.Recorded = true
	slow, err := Run(context.Background(), cfg)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{100 * time.Millisecond, 2900 * time.Millisecond}, f.slept)

	cfg, _ = config(t, "1/s", text)
	fast, err := Run(context.Background(), cfg)
	require.NoError(t, err)
	require.Equal(t, fast.Report, slow.Report)
}

func TestTimeGoingBack(t *testing.T) {
	// The second a is stale: it mints nothing. It is counted; so is the third.
	cfg, _ := config(t, "10/s burst=1", "5000000000,a,x\n4000000000,a,x\n4900000000,a,x\n5100000000,a,x\n")
	res, err := Run(context.Background(), cfg)
	require.NoError(t, err)
	require.EqualValues(t, 2, res.Report.Inputs[0].Backwards)
	require.EqualValues(t, 2, res.Report.Total.Denied)
	require.EqualValues(t, 4e9, res.Report.FirstNS)
}

func TestMalformedLines(t *testing.T) {
	const text = "1,a,x\nx\n2,a,x\n3,a,x,-1\n"
	cfg, _ := config(t, "1/s", text)
	var faults []string
	cfg.Fault = func(err error) { faults = append(faults, err.Error()) }
	res, err := Run(context.Background(), cfg)
	require.NoError(t, err)
	require.Equal(t, []string{
		"stdin:2: 1 fields, expected ts_ns,apikey,endpoint and an optional cost",
		"stdin:4: cost -1 is negative",
	}, faults)
	require.EqualValues(t, 2, res.Report.Inputs[0].Malformed)

	cfg, _ = config(t, "1/s", text)
	cfg.Strict = true
	_, err = Run(context.Background(), cfg)
	require.EqualError(t, err, "stdin:2: 1 fields, expected ts_ns,apikey,endpoint and an optional cost")
}

func TestNothing(t *testing.T) {
	cfg, _ := config(t, "1/s", "ts_ns,apikey,endpoint,cost\n1,a,x,-1\n")
	_, err := Run(context.Background(), cfg)
	require.ErrorIs(t, err, ErrNothing)
}

// TestSeveralFiles: one gate over all of them, and an empty one is passed over.
func TestSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	cfg, _ := config(t, "1/d", "3,a,x\n")
	cfg.Files = []string{write("1", "1,a,x\n"), write("2", ""), write("3", "0,a,x\n"), "-"}
	faults := 0
	cfg.Fault = func(err error) { require.ErrorIs(t, err, source.ErrEmpty); faults++ }
	res, err := Run(context.Background(), cfg)
	require.NoError(t, err)
	require.Equal(t, 1, faults)
	require.Len(t, res.Report.Inputs, 3)
	require.EqualValues(t, 2, res.Report.Total.Denied, "the day's token went in the first file")
	require.EqualValues(t, 1, res.Report.Inputs[1].Backwards, "earlier than the file before")
	require.EqualValues(t, 0, res.Report.Inputs[2].Backwards)
}

// TestCutOffInput: what could be read is reported, with the error.
func TestCutOffInput(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(strings.Repeat("1,a,x\n", 5000)))
	z.Close()
	cfg, _ := config(t, "1/s", "")
	cfg.Stdin = bytes.NewReader(b.Bytes()[:b.Len()-4])
	res, err := Run(context.Background(), cfg)
	require.ErrorContains(t, err, "stdin: after line 5000: unexpected EOF")
	require.EqualValues(t, 5000, res.Report.Total.Requests)
	require.EqualValues(t, 5000, res.Report.Inputs[0].Requests)
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cfg, f := config(t, "1/s", "1,a,x\n2,a,x\n3,a,x\n4,a,x\n")
	cfg.Recorded = true
	cfg.Sleep = func(ctx context.Context, d time.Duration) error {
		cancel()
		return f.sleep(ctx, d)
	}
	res, err := Run(ctx, cfg)
	require.ErrorIs(t, err, context.Canceled)
	require.EqualValues(t, 1, res.Report.Total.Requests)
}

func TestGateThatCannotBeMade(t *testing.T) {
	cfg, _ := config(t, "1/s", "1,a,x\n")
	cfg.Gate = func(clock.Time) (*tickgate.Gate, error) { return nil, os.ErrInvalid }
	_, err := Run(context.Background(), cfg)
	require.ErrorIs(t, err, os.ErrInvalid)
}

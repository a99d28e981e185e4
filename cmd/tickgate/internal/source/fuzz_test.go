package source

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// check reads text in one format and holds the reader to what every format
// promises: records in range, faults of one line, counts that add up.
func check(t *testing.T, format Format, text string) {
	r, err := newReader("f", "f", io.NopCloser(strings.NewReader(text)), Options{Format: format})
	if err != nil {
		require.NotContains(t, err.Error(), "\n")
		return
	}
	var requests, faults int64
	for {
		var rec Record
		err := r.Next(&rec)
		if errors.Is(err, io.EOF) {
			break
		}
		var line *LineError
		if errors.As(err, &line) {
			faults++
			require.NotContains(t, err.Error(), "\n")
			require.Less(t, len(err.Error()), 400)
			continue
		}
		if err != nil {
			return // gzip gone wrong
		}
		requests++
		require.True(t, rec.At >= 0 && rec.At <= MaxAt, "time %d", rec.At)
		require.GreaterOrEqual(t, rec.Cost, int64(0))
		require.NoError(t, checkName("key", []byte(rec.Key)))
		require.NoError(t, checkName("endpoint", []byte(rec.Endpoint)))
	}
	c := r.Counts()
	require.Equal(t, requests, c.Requests)
	require.Equal(t, faults, c.Malformed)
	require.LessOrEqual(t, c.Requests+c.Malformed+c.Skipped, c.Lines)
}

func FuzzCSV(f *testing.F) {
	f.Add("ts_ns,apikey,endpoint,cost\n1293179939052372053,acct-BOB,order.new,1\n")
	f.Add("endpoint,ts_ns,apikey\n\"a\"\"b\",5,\"k,1\"\n")
	f.Add("5,a,x,-1\n99999999999999999999,a,x\n5,a,x,,\n")
	f.Fuzz(func(t *testing.T, text string) { check(t, CSV, text) })
}

func FuzzCombined(f *testing.F) {
	f.Add("192.0.2.7 - - [17/May/2015:10:05:03 +0000] \"GET /blog/a?x=1 HTTP/1.1\" 200 512 \"-\" \"agent\"\n")
	f.Add("a - b [c] [17/May/2015:10:05:03 +0000] \"-\" 408 0\n")
	f.Add("a - - [31/Feb/9999:10:05:03 -9999] \"GET http://x HTTP/1.1\" 200\n")
	f.Fuzz(func(t *testing.T, text string) { check(t, Combined, text) })
}

func FuzzLobster(f *testing.F) {
	f.Add("34200.017459617,1,16113575,18,5853300,1\n34201.1,4,16113575,8,5853300,1\n")
	f.Add("86399.99999999999999999,3,9223372036854775807,1,-1,-1\n")
	f.Add(".5,1,1,1,1,1\n5.,1,1,1,1,1\n,,,,,\n")
	f.Fuzz(func(t *testing.T, text string) { check(t, Lobster, text) })
}

// FuzzDetect looks for text that makes the choice of a format fail badly.
func FuzzDetect(f *testing.F) {
	f.Add("5,a,x\n")
	f.Add("\xef\xbb\xbf34200.1,1,1,1,1,1\n")
	f.Add("\x1f\x8b\x08\x00")
	f.Fuzz(func(t *testing.T, text string) { check(t, Auto, text) })
}

package source

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// read returns all records and line errors of text read as name.
func read(t *testing.T, name, text string, opt Options) (records []Record, faults []string, r *Reader) {
	t.Helper()
	r, err := newReader(name, name, io.NopCloser(strings.NewReader(text)), opt)
	require.NoError(t, err)
	for {
		var rec Record
		err := r.Next(&rec)
		var line *LineError
		switch {
		case errors.Is(err, io.EOF):
			return records, faults, r
		case errors.As(err, &line):
			faults = append(faults, err.Error())
		default:
			require.NoError(t, err)
			records = append(records, rec)
		}
	}
}

func TestCSV(t *testing.T) {
	long := strings.Repeat("k", 300)
	for _, c := range []struct {
		name, text string
		records    []Record
		faults     []string
	}{
		{"header and cost", "ts_ns,apikey,endpoint,cost\n5,a,x,3\n6,b,y,\n", []Record{{5, "a", "x", 3}, {6, "b", "y", 1}}, nil},
		{"no header, no cost", "5,a,x\r\n6,b,y\r\n", []Record{{5, "a", "x", 1}, {6, "b", "y", 1}}, nil},
		{"columns by name", "endpoint,note,ts_ns,apikey\nx,-,5,a\ny,-\n", []Record{{5, "a", "x", 1}}, []string{"f:3: ts_ns is missing"}},
		{"byte order mark, blank lines, no last line end", "\xef\xbb\xbfts_ns,apikey,endpoint\n\n  \n5,a,x", []Record{{5, "a", "x", 1}}, nil},
		{"quotes", "5,\"a,\"\"b\"\"\",x\n", []Record{{5, `a,"b"`, "x", 1}}, nil},
		{"zero cost asks only", "5,a,x,0\n", []Record{{5, "a", "x", 0}}, nil},
		{"one bad line leaves the rest", "5,a,x\n6,b\n7,c,z\n", []Record{{5, "a", "x", 1}, {7, "c", "z", 1}}, []string{"f:2: 2 fields, expected ts_ns,apikey,endpoint and an optional cost"}},
		{"negative cost", "5,a,x,1\n6,a,x,-2\n", []Record{{5, "a", "x", 1}}, []string{"f:2: cost -2 is negative"}},
		{"cost of letters", "5,a,x,1\n6,a,x,two\n", []Record{{5, "a", "x", 1}}, []string{`f:2: cost "two" is not a whole number`}},
		{"key of 300 bytes", "5,a,x\n6," + long + ",x\n", []Record{{5, "a", "x", 1}}, []string{"f:2: apikey is 300 bytes long, at most 256 are allowed"}},
		{"empty names", "5,a,x\n6,,x\n7,a,\n", []Record{{5, "a", "x", 1}}, []string{"f:2: apikey is empty", "f:3: endpoint is empty"}},
		{"times", "5,a,x\n-6,a,x\n1.5,a,x\n9223372036854775807,a,x\n9223372036854775808,a,x\n", []Record{{5, "a", "x", 1}}, []string{
			"f:2: ts_ns -6 is negative", `f:3: ts_ns "1.5" is not a whole number of nanoseconds`,
			"f:4: ts_ns 9223372036854775807 is after the year 2116: is it in nanoseconds?",
			`f:5: ts_ns "9223372036854775808" is not a whole number of nanoseconds`,
		}},
		{"terminal escapes", "5,a,x\n6,\x1b[2J,x\n", []Record{{5, "a", "x", 1}}, []string{"f:2: apikey holds the unprintable character U+001B"}},
		{"not UTF-8", "5,a,x\n6,a,\xff\n", []Record{{5, "a", "x", 1}}, []string{"f:2: endpoint is not valid UTF-8"}},
		{"open quote", "5,a,x\n6,\"a,x\n", []Record{{5, "a", "x", 1}}, []string{"f:2: a quoted field does not end on its line"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			records, faults, r := read(t, "f", c.text, Options{})
			require.Equal(t, CSV, r.Format())
			require.Equal(t, c.records, records)
			require.Equal(t, c.faults, faults)
			require.EqualValues(t, len(records), r.Counts().Requests)
			require.EqualValues(t, len(faults), r.Counts().Malformed)
		})
	}
}

func TestCombined(t *testing.T) {
	const at = int64(1431857103) * 1e9
	line := func(request string) string {
		return `192.0.2.7 - - [17/May/2015:10:05:03 +0000] "` + request + `" 200 512 "-" "agent \"x\""` + "\n"
	}
	for _, c := range []struct{ request, endpoint, fault string }{
		{request: "GET /blog/a/b?x=1 HTTP/1.1", endpoint: "GET /blog"},
		{request: "GET /blog?x=/1 HTTP/1.1", endpoint: "GET /blog"},
		{request: "GET / HTTP/1.1", endpoint: "GET /"},
		{request: "GET //a HTTP/1.1", endpoint: "GET /"},
		{request: "GET /old", endpoint: "GET /old"},
		{request: "OPTIONS * HTTP/1.1", endpoint: "OPTIONS *"},
		{request: "GET http://example.org/a/b HTTP/1.1", endpoint: "GET /a"},
		{request: "GET http://example.org HTTP/1.1", endpoint: "GET /"},
		{request: `GET /a\"b/c HTTP/1.1`, endpoint: `GET /a\"b`},
		{request: "-"}, // no request
		{request: `\x16\x03\x01`, fault: `request "\\x16\\x03\\x01" is not a method and a path`},
		{request: "get /a HTTP/1.1", fault: `request "get /a HTTP/1.1" is not a method and a path`},
		{request: "GET /" + strings.Repeat("a", 300) + " HTTP/1.1", fault: "endpoint is 305 bytes long, at most 256 are allowed"},
	} {
		records, faults, r := read(t, "f", line(c.request), Options{Format: Combined})
		switch {
		case c.endpoint != "":
			require.Equal(t, []Record{{at, "192.0.2.7", c.endpoint, 1}}, records, c.request)
		case c.fault != "":
			require.Equal(t, []string{"f:1: " + c.fault}, faults)
		default:
			require.EqualValues(t, 1, r.Counts().Skipped)
		}
	}
	// The common format, an address of IPv6, a zone, a user with a bracket.
	records, faults, r := read(t, "f", "2001:db8::1 - a [b] [17/May/2015:12:05:03 +0200] \"GET /a HTTP/1.0\" 304 -\n", Options{})
	require.Empty(t, faults)
	require.Equal(t, Combined, r.Format())
	require.Equal(t, []Record{{at, "2001:db8::1", "GET /a", 1}}, records)
	for text, reason := range map[string]string{
		"nothing": "no space after the client address",
		"a - - [17/May/2015] \"GET / HTTP/1.1\" 200 1\n":                "no time like",
		"a - - [17/Nay/2015:12:05:03 +0200] \"GET / HTTP/1.1\" 200 1\n": "is not like",
		"a - - [17/May/1915:12:05:03 +0200] \"GET / HTTP/1.1\" 200 1\n": "is not between 1970 and 2116",
		"a - - [17/May/2015:12:05:03 +0200] \"GET / HTTP/1.1 200 1\n":   "no quoted request",
		"a - - [17/May/2015:12:05:03 +0200] \"GET / HTTP/1.1\" ok 1\n":  "no status",
	} {
		_, faults, _ := read(t, "f", text, Options{Format: Combined})
		require.Len(t, faults, 1)
		require.Contains(t, faults[0], reason)
	}
}

func TestLobster(t *testing.T) {
	const text = `34200.017459617,1,16113575,18,5853300,1
34200.5,2,16113575,10,5853300,1
34201,3,16113575,8,5853300,1
34201.1,4,16113575,8,5853300,1
34201.2,5,0,8,5853300,-1
34201.3,7,0,0,-1,-1
34201.0000000019,1,1,1,1,1
`
	records, faults, r := read(t, "AAPL_2012-06-21_34200000_57600000_message_1.csv", text, Options{})
	require.Empty(t, faults)
	require.Equal(t, Lobster, r.Format())
	day := int64(1340236800) * 1e9
	require.Equal(t, []Record{
		{day + 34200_017459617, "AAPL", OrderNew, 1},
		{day + 34200_500000000, "AAPL", OrderCancel, 1},
		{day + 34201_000000000, "AAPL", OrderCancel, 1},
		{day + 34201_000000001, "AAPL", OrderNew, 1},
	}, records)
	require.EqualValues(t, 3, r.Counts().Skipped)

	records, _, _ = read(t, "messages.csv", text, Options{LobsterKey: "desk"})
	require.Equal(t, Record{34200_017459617, "desk", OrderNew, 1}, records[0])

	for line, reason := range map[string]string{
		"34200.1,1,2,3,4":     "5 fields",
		"34200.1,1,2,3,4,5,6": "7 fields",
		"34200.1,8,2,3,4,1":   `type "8" is not one of 1 to 7`,
		"34200.,1,2,3,4,1":    "is not seconds after midnight",
		"-1.5,1,2,3,4,1":      "is not seconds after midnight",
		"1e9,1,2,3,4,1":       "is not seconds after midnight",
		"86400,1,2,3,4,1":     "past the end of the day",
		"34200.1,1,x,3,4,1":   `order id "x" is not a whole number`,
	} {
		_, faults, _ := read(t, "f", line, Options{Format: Lobster})
		require.Len(t, faults, 1, line)
		require.Contains(t, faults[0], reason)
	}
}

func TestLobsterKey(t *testing.T) {
	for file, want := range map[string]string{
		"/data/AAPL_2012-06-21_x.csv": "AAPL", "MSFT.csv.gz": "MSFT", "": "lobster", "_x": "lobster", "a\x01_b": "lobster",
	} {
		require.Equal(t, want, newLobster(file, "").key, file)
	}
}

func TestUnusableInputs(t *testing.T) {
	for name, c := range map[string]struct{ text, reason string }{
		"empty":     {"", "f: is empty"},
		"blank":     {"\n \n\r\n", "f: is empty"},
		"binary":    {"\x7fELF\x02\x01\x00\x00", "f: is a binary file, expected lines of text"},
		"unknown":   {"hello\nworld\n", `f: is in no known format (first line "hello"): name it with --format csv, combined or lobster`},
		"short gz":  {"\x1f\x8b\x08", "f: unexpected EOF"},
		"empty gz":  {zipped(""), "f: is empty"},
		"binary gz": {zipped("\x00\x01"), "f: is a binary file, expected lines of text"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newReader("f", "f", io.NopCloser(strings.NewReader(c.text)), Options{})
			require.EqualError(t, err, c.reason)
		})
	}
	_, err := Open(filepath.Join(t.TempDir(), "missing"), nil, Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(t.TempDir(), nil, Options{})
	require.ErrorContains(t, err, "is a directory")
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.String()
}

func TestGzip(t *testing.T) {
	text := strings.Repeat("5,a,x\n", 50_000)
	records, faults, r := read(t, "f", zipped(text), Options{})
	require.Empty(t, faults)
	require.Len(t, records, 50_000)
	require.Less(t, r.BytesRead(), int64(len(text)))

	cut := zipped(text)
	r, err := newReader("f", "f", io.NopCloser(strings.NewReader(cut[:len(cut)-6])), Options{})
	require.NoError(t, err)
	for err == nil {
		err = r.Next(new(Record))
	}
	require.ErrorContains(t, err, "f: after line 50000: unexpected EOF")
}

// TestLongLine: a line over the bound costs one fault, not the input, and
// not its memory.
func TestLongLine(t *testing.T) {
	text := "5,a,x\n6,a," + strings.Repeat("x", 3*MaxLine) + "\n7,a,x\n8,a," + strings.Repeat("y", MaxLine-4) + "\n9,a,x\n"
	records, faults, r := read(t, "f", text, Options{})
	require.Equal(t, []Record{{5, "a", "x", 1}, {7, "a", "x", 1}, {9, "a", "x", 1}}, records)
	require.Equal(t, []string{
		"f:2: line is longer than 1 MiB",
		"f:4: endpoint is 1048572 bytes long, at most 256 are allowed",
	}, faults)
	require.LessOrEqual(t, cap(r.lines.buf), 2*MaxLine)
}

// TestSteadyReadDoesNotAllocate: a name seen before is not copied again.
func TestSteadyReadDoesNotAllocate(t *testing.T) {
	p, rec := newCSV(Names{}), Record{}
	line := []byte("1293179939052372053,acct-BOB,order.new,1")
	require.NoError(t, p.parse(line, &rec))
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = p.parse(line, &rec) }))
}

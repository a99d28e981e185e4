package source

import (
	"bytes"
	"errors"
	"fmt"
)

const (
	probeBytes = 64 << 10 // of an input are looked at to find its format
	probeLines = 16       // at most are tried, the first that are not blank
)

// ErrEmpty is wrapped by Open's error for an input without any text.
var ErrEmpty = errors.New("is empty")

var errBinary = errors.New("is a binary file, expected lines of text")

// detect returns the format that most of the first lines are right in; a tie
// goes to the earlier of csv, combined, lobster. head is the start of an
// input, the whole of it where whole is set.
func detect(head []byte, whole bool) (Format, error) {
	if bytes.IndexByte(head, 0) >= 0 {
		return "", errBinary
	}
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	tries := [...]struct {
		format Format
		parser parser
		right  int
	}{
		{format: CSV, parser: newCSV(Names{})},
		{format: Combined, parser: &combinedParser{names: Names{}}},
		{format: Lobster, parser: newLobster("", "x")},
	}
	seen := 0
	var first []byte
	for len(head) > 0 && seen < probeLines {
		line, rest, ended := bytes.Cut(head, []byte("\n"))
		if !ended && !whole && seen > 0 {
			break // cut off by the probe, not by the input
		}
		head = rest
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if seen++; seen == 1 {
			first = line
		}
		var rec Record
		for i := range tries {
			if err := tries[i].parser.parse(line, &rec); err == nil || errors.Is(err, errSkip) {
				tries[i].right++
			}
		}
	}
	if seen == 0 {
		return "", ErrEmpty
	}
	best := tries[0]
	for _, t := range tries[1:] {
		if t.right > best.right {
			best = t
		}
	}
	if best.right == 0 {
		return "", fmt.Errorf("is in no known format (first line %s): name it with --format csv, combined or lobster", excerpt(first))
	}
	return best.format, nil
}

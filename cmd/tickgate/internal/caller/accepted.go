package caller

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
)

// Accepted are the keys that are let in, by their hashes: a look-up then takes the same
// time however much of a key was guessed right, and no key is kept.
type Accepted map[[sha256.Size]byte]struct{}

// Load reads a file of keys, one on a line. Blanks around a key do not matter; empty
// lines, and lines that begin with #, are left out. A file without a key is an error:
// it would let nobody in. Every fault is reported, by its line and never with the key.
func Load(file string) (Accepted, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var faults []error
	fault := func(line int, reason string) {
		faults = append(faults, fmt.Errorf("%s: line %d: %s", file, line, reason))
	}
	keys := Accepted{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 2*maxKey)
	n := 0
	for lines.Scan() {
		n++
		key := string(bytes.Trim(lines.Bytes(), " \t\r"))
		switch {
		case key == "" || key[0] == '#':
		case !visible(key) || strings.Contains(key, ","):
			fault(n, fmt.Sprintf("a key must have at most %d bytes, all of printable ASCII, and no comma", maxKey))
		default:
			keys[sha256.Sum256([]byte(key))] = struct{}{}
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		fault(n+1, fmt.Sprintf("a key must have at most %d bytes", maxKey))
	case err != nil:
		faults = append(faults, err)
	case len(keys) == 0 && faults == nil:
		faults = append(faults, fmt.Errorf("%s: holds no key, so that nobody could be let in; write one on a line", file))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return keys, nil
}

// Keys are Accepted that may be exchanged while requests are let in. A nil *Keys lets
// in any key as it is.
type Keys struct{ now atomic.Pointer[Accepted] }

// NewKeys returns keys that are accepted until Set.
func NewKeys(accepted Accepted) *Keys {
	k := &Keys{}
	k.Set(accepted)
	return k
}

// Set exchanges all keys, for requests that come from now on.
func (k *Keys) Set(accepted Accepted) { k.now.Store(&accepted) }

// Len returns how many keys are let in.
func (k *Keys) Len() int { return len(*k.now.Load()) }

func (k *Keys) has(hash [sha256.Size]byte) bool {
	if k == nil {
		return true
	}
	_, known := (*k.now.Load())[hash]
	return known
}

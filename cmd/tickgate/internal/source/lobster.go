package source

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// The endpoints that LOBSTER message types stand for.
const (
	OrderNew    = "order.new"
	OrderCancel = "order.cancel"
)

// lobsterParser reads LOBSTER message files:
//
//	34200.017459617,1,16113575,18,5853300,1
//
// which are time in seconds after midnight, type, order id, size, price in
// 1/10,000 dollar and direction. Type 1 is a new order; 2 (part) and 3 (whole)
// are cancels. Executions (4, 5), crosses (6) and halts (7) are what the venue
// did, not what a client asked for: they are no requests.
type lobsterParser struct {
	key  string
	base int64 // ns of the midnight the file's times count from; 0 where unknown
}

// newLobster takes key as everyone's key; an empty one is replaced by the
// file name's prefix, which is the ticker. The date in the name, if there is
// one, places the file's times, so that several days follow each other.
func newLobster(file, key string) *lobsterParser {
	p := &lobsterParser{key: key}
	parts := strings.Split(filepath.Base(file), "_")
	if p.key == "" {
		p.key = lobsterTicker(parts)
	}
	if len(parts) > 1 {
		if t, err := time.Parse(time.DateOnly, parts[1]); err == nil && t.Year() >= 1970 && t.Year() < 2116 {
			p.base = t.UnixNano()
		}
	}
	return p
}

func lobsterTicker(parts []string) string {
	name := parts[0]
	if len(parts) == 1 { // no prefix to speak of: the name without its extensions
		name, _, _ = strings.Cut(name, ".")
	}
	if name == "" || checkName("key", []byte(name)) != nil {
		return "lobster"
	}
	return name
}

func (p *lobsterParser) parse(line []byte, rec *Record) error {
	var f [6][]byte
	rest := line
	for i := range f {
		part, after, found := bytes.Cut(rest, []byte(","))
		if found != (i < len(f)-1) {
			return fmt.Errorf("%d fields, expected time,type,order,size,price,direction", bytes.Count(line, []byte(","))+1)
		}
		f[i], rest = bytes.TrimSpace(part), after
	}
	at, err := secondsAfterMidnight(f[0])
	if err != nil {
		return err
	}
	for i, what := range [...]string{2: "order id", 3: "size", 4: "price", 5: "direction"} {
		if what == "" {
			continue
		}
		if _, ok := parseInt(f[i]); !ok {
			return fmt.Errorf("%s %s is not a whole number", what, excerpt(f[i]))
		}
	}
	endpoint := ""
	switch {
	case len(f[1]) != 1 || f[1][0] < '1' || f[1][0] > '7':
		return fmt.Errorf("type %s is not one of 1 to 7", excerpt(f[1]))
	case f[1][0] == '1':
		endpoint = OrderNew
	case f[1][0] <= '3':
		endpoint = OrderCancel
	default:
		return errSkip
	}
	*rec = Record{At: p.base + at, Key: p.key, Endpoint: endpoint, Cost: 1}
	return nil
}

// secondsAfterMidnight reads decimal seconds into nanoseconds, exactly: no
// float. Digits after the ninth decimal are cut off.
func secondsAfterMidnight(b []byte) (int64, error) {
	whole, frac, dot := bytes.Cut(b, []byte("."))
	sec, ok := parseInt(whole)
	if !ok || whole[0] == '-' || whole[0] == '+' || (dot && len(frac) == 0) {
		return 0, fmt.Errorf("time %s is not seconds after midnight", excerpt(b))
	}
	if sec >= 24*60*60 {
		return 0, errors.New("time is past the end of the day, expected seconds after midnight")
	}
	ns, unit := int64(0), int64(1e8)
	for _, c := range frac {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("time %s is not seconds after midnight", excerpt(b))
		}
		ns += int64(c-'0') * unit
		unit /= 10
	}
	return sec*1e9 + ns, nil
}

package idem

// Verdict is what a [Window] says of an id.
type Verdict uint8

// The verdicts.
const (
	Fresh     Verdict = iota + 1 // not seen within the TTL; remembered from now on
	Duplicate                    // seen within the TTL, and not released since
	Full                         // not seen, and no room to remember it: as many ids as the capacity are live
	BadID                        // empty, or longer than MaxID bytes; not remembered
)

func (v Verdict) String() string {
	switch v {
	case Fresh:
		return "fresh"
	case Duplicate:
		return "duplicate"
	case Full:
		return "full"
	case BadID:
		return "bad-id"
	}
	return "invalid"
}

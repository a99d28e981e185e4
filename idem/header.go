package idem

// header is the word through which all inserts of ids with one home line become
// visible, one at a time.
//
//	 63   59 58      51 50      43 42    40 39            0
//	┌───────┬──────────┬──────────┬────────┬───────────────┐
//	│   0   │ reach 8  │ dist 8   │ slot 3 │ incarnation   │
//	└───────┴──────────┴──────────┴────────┴───────────────┘
//
// dist (in lines from the home) and slot tell the slot announced last and
// incarnation the one it was announced in. reach is how many lines from the home
// on its ids may lie in; it only grows, so a look-up never stops short. It is 0
// until the first announcement.
//
// A slot is announced once in an incarnation. So a header that is as it was has
// been so all the time, and no version is needed: what was not found under it was
// not inserted since.
type header uint64

const (
	slotShift  = 40
	distShift  = 43
	reachShift = 51
)

func (h header) inc() uint64   { return uint64(h) & (1<<incBits - 1) }
func (h header) slot() uint32  { return uint32(h>>slotShift) & 7 }
func (h header) dist() uint32  { return uint32(h>>distShift) & 255 }
func (h header) reach() uint32 { return uint32(h>>reachShift) & 255 }

// announce is the header after h that announces slot s at distance d, in the
// incarnation of m.
func (h header) announce(d, s uint32, m meta) header {
	return header(max(h.reach(), d+1))<<reachShift | header(d)<<distShift | header(s)<<slotShift | header(m.inc())
}

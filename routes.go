package tickgate

import (
	"sync/atomic"
	"unsafe"

	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/shard"
)

// routes finds the policy of an endpoint. It is immutable but for its hints, and
// replaced as a whole by Apply.
type routes struct {
	number uint32 // of the sets that were applied
	set    policy.Set
	byName map[string]*route
	other  *shard.Policy   // the policy "default", for endpoints not named; nil without
	known  []*shard.Policy // of every endpoint that was ever named, for Stats

	// hints remember where an endpoint's name was found last, by the address of its
	// bytes: a call site passes the same constant every time. A hint is a guess
	// that is checked, so a wrong or a lost one costs a map look-up and no more.
	hints [hintSlots]atomic.Pointer[route]
}

const hintSlots = 256 // 2 KiB

// route is an endpoint that a policy names.
type route struct {
	name   string
	policy *shard.Policy
	limits []policy.Limit // of the set
}

// find returns the policy that answers for endpoint, nil if none does, and
// whether it names it.
func (r *routes) find(endpoint string) (p *shard.Policy, named bool) {
	hint := &r.hints[hintOf(endpoint)]
	if e := hint.Load(); e != nil && e.name == endpoint {
		return e.policy, true
	}
	if e := r.byName[endpoint]; e != nil {
		hint.Store(e)
		return e.policy, true
	}
	return r.other, false
}

// hintOf spreads the addresses of string data, which lie close together, over the
// hints. The address is only a number here.
func hintOf(s string) uint32 {
	return uint32(uintptr(unsafe.Pointer(unsafe.StringData(s)))) * 0x9E3779B1 >> 24
}

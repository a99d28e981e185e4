package tickgate

// Block denies every call of an apikey but urgent ones, with Reason Blocked, until
// it is unblocked: [Operator.Block] in nobody's name.
func (g *Gate) Block(apikey string) { g.As("").Block(apikey) }

// Unblock ends a block: [Operator.Unblock] in nobody's name.
func (g *Gate) Unblock(apikey string) { g.As("").Unblock(apikey) }

// Block is the kill switch: it denies every call of an apikey but urgent ones, at
// all its endpoints, also ones not seen yet. The apikey "" is everyone. Calls that
// began before Block returned may pass. Blocking twice is blocking once. An apikey of
// more than 256 bytes, which nobody can have, is counted as a bad request, and the
// audit hook gets ErrKey.
//
// Everyone is blocked within microseconds; for one apikey Block walks over all
// keys, in about 10 ms for a million. No decision waits for it, and one that is not
// blocked costs nothing more.
func (o Operator) Block(apikey string) { o.block(apikey, true) }

// Unblock ends what Block began. Unblocking everyone leaves those blocked who were
// blocked by name.
func (o Operator) Unblock(apikey string) { o.block(apikey, false) }

func (o Operator) block(apikey string, blocked bool) {
	g := o.g
	g.mu.Lock()
	defer g.mu.Unlock()
	if apikey != "" && badName(apikey) {
		// Nobody can have that name: the hook is told, and the record shows it.
		g.bad.Inc()
		what, set := BlockLift, g.Policies()
		if blocked {
			what = BlockSet
		}
		o.audit(Change{What: what, APIKey: apikey, Old: set, New: set.Clone(), Err: ErrKey})
		return
	}
	if apikey == "" {
		g.blocked = blocked
		for _, p := range g.known {
			p.BlockAll(blocked)
		}
	} else {
		g.table.Block(apikey, blocked)
	}
	g.waits.wake()
	what, set := BlockLift, g.Policies()
	if blocked {
		what = BlockSet
	}
	o.audit(Change{What: what, APIKey: apikey, Old: set, New: set.Clone()})
}

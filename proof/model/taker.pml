/* One call: TakeAt(key, n=1), or a handle: Pin, TakeAt(n=1) on it, Release. */

/* header.go help: complete the publication that h announces. */
inline complete() {
	s = PEND(h) - 1;
	m = meta[s];                                    /* load meta */
	d_step {                                        /* CAS PRIVATE_i -> LIVE_i, of the announced incarnation only */
		if
		:: ST(m) == PRIVATE && ANNOUNCES(h,m) && meta[s] == m -> meta[s] = WITH(m, LIVE); check_publish(s)
		:: else
		fi;
		m = 0
	};
	d_step {                                        /* CAS header: pending -> none */
		if
		:: hdr[GROUP(k)] == h -> hdr[GROUP(k)] = SETTLED(h)
		:: else
		fi;
		s = 0
	}
}

/* The take happened. Its charge is f, a denial's word too. */
inline took() {
	admit(k, at); gobs[s*NW] = MAX(gobs[s*NW], f);
#if NW == 2
	gobs[s*NW+1] = MAX(gobs[s*NW+1], f0);
#endif
	goto done
}
inline denied() { gobs[s*NW+w] = MAX(gobs[s*NW+w], f); goto done }

proctype Taker(byte k; byte ops; bit pin) {
	byte s, i, now, at, mine, mi, f, f0, w;
	short h, m;
	bit fast, ok, held;
#if NW == 2
	byte raw;
#endif
call:	skip;
	d_step { (ops > 0) -> ops--; now = clk };
look:
	/* find: search without help. insert: help, and search again unless nothing was pending. fast tells which. */
	fast = true;
insert:
	h = hdr[GROUP(k)];
	if
	:: !fast && PEND(h) != 0 -> complete(); goto insert
	:: else
	fi;
	do
	:: s >= REACH(h) -> s = 0; break
	:: else ->
		m = meta[s];
		if
		:: VISIBLE(m) && keyA[s] == KA(k) ->
			if
			:: keyB[s] == KB(k) -> goto found
			:: else
			fi
		:: else
		fi;
		d_step { s++; m = 0 }
	od;
	/* nothing was pending when the header was loaded: this search counts for the insert */
	skip;
	d_step { ok = (fast && PEND(h) != 0); fast = false };
	if
	:: ok -> d_step { ok = false; h = 0 }; goto insert
	:: else
	fi;
	/* claim; kept over retries */
	if
	:: mine != 0
	:: else ->
		do
		:: s >= NS -> goto done                  /* Full: no room */
		:: else ->
			m = meta[s];
			atomic {
				if
				:: ST(m) == FREE && meta[s] == m ->
					meta[s] = WITH(m, PRIVATE); mine = s+1; mi = INC(m); gkey[s] = k; s = 0; m = 0; break
				:: else -> s++; m = 0
				fi
			}
		od;
#ifndef BUG_PUBLISH_EARLY
		keyA[mine-1] = KA(k);
		keyB[mine-1] = KB(k);
#endif
	fi;
	skip;
	/* the floor, loaded after the search; the words are written again when it rose */
	d_step {
		s = now;
#ifndef BUG_NO_FLOOR
		s = MAX(now, flr);
#endif
		ok = (held == 0 || s > at); held = true; if :: ok -> at = s :: else fi; s = 0
	};
	skip;
	if
	:: ok ->
		seen[mine-1] = at;
		F(mine-1,0) = WORD(O(mi), at + !pin);
#if NW == 2
		F(mine-1,1) = WORD(O(mi), at + !pin * COST(1));
#endif
		ok = false
	:: else
	fi;
	/* CAS header: the insertion and its first take take place here */
	atomic {
		if
		:: hdr[GROUP(k)] == h ->
			d_step {
			hdr[GROUP(k)] = ANNOUNCE(h, mine-1, mi & 7);
			check_announce(mine-1);
			if
			:: !pin ->
				w = 0;
				do
				:: w >= NW -> break
				:: else -> gobs[(mine-1)*NW+w] = at + COST(w); w++
				od;
				w = 0; admit(k, at)
			:: else
			fi }
		:: else -> h = 0; goto insert
		fi
	};
#ifdef BUG_PUBLISH_EARLY
	keyA[mine-1] = KA(k);
	keyB[mine-1] = KB(k);
#endif
	skip;
	d_step { f = mine-1; i = mi; mine = 0; mi = 0; held = false; at = 0; h = 0; fast = false };
help:
	h = hdr[GROUP(k)];
	if
	:: PEND(h) != 0 -> complete(); goto help
	:: else
	fi;
	d_step { s = f; f = 0; h = 0 };
#ifdef PINNING
	if
	:: pin -> goto pinned
	:: else
	fi;
#endif
	goto done;

found:
	if
	:: mine != 0 -> d_step {                        /* abandon; look again */
			assert(!gset[mine-1]);
			meta[mine-1] = EMPTIED(meta[mine-1]); gkey[mine-1] = 0; mine = 0; mi = 0; held = false; at = 0; s = 0; m = 0; h = 0
		};
		goto look
	:: !fast && mine == 0 -> d_step { s = 0; m = 0; h = 0 }; goto look
	:: else
	fi;
	d_step { i = INC(m); m = 0; h = 0; fast = false };
#ifdef PINNING
	if
	:: pin -> goto pinned
	:: else
	fi;
#endif
touch:
	f = seen[s];
	d_step {
		ok = (now > f + GRAIN);
		at = MAX(now, f)
	};
	if
	:: ok ->
		atomic {
			if
			:: seen[s] == f -> seen[s] = now
			:: else -> ok = false; f = 0; goto touch
			fi
		}
	:: else
	fi;
	ok = false;
#if NW == 1
take:
	f = F(s,0);
#ifndef BUG_NO_PRECHECK
	if
	:: INC(meta[s]) != i -> goto moved
	:: else
	fi;
#endif
	f0 = TIME(f);
	if
	:: MAX(f0,at) + 1 - at > CAP(0) -> f0 = 0; f = TIME(f); goto deny
	:: else
	fi;
	atomic {                                        /* CAS(F, F') */
		if
		:: F(s,0) == f ->
			f = MAX(f0,at) + 1; F(s,0) = WORD(O(i), f); f0 = 0;
			assert(INC(meta[s]) == i || !VISIBLE(meta[s])); /* nobody else's bucket */
		:: else -> f = 0; f0 = 0; goto take
		fi
	};
#ifdef BUG_NO_RECHECK
	atomic { took() };
#endif
confirm:
	atomic {                                        /* reload meta */
		m = meta[s];
		if
		:: INC(m) != i -> goto moved
		:: INC(m) == i && ST(m) == LIVE -> took()
		:: else
		fi
	};
	atomic {                                        /* reopen */
		if
		:: meta[s] == m -> meta[s] = WITH(m, LIVE); took()
		:: else -> m = 0; goto confirm
		fi
	};
deny:
	atomic {                                        /* reload meta */
		m = meta[s];
		if
		:: INC(m) != i -> goto moved
		:: INC(m) == i && ST(m) == LIVE -> denied()
		:: else
		fi;
#ifdef BUG_DENY_NO_REOPEN
		denied()
#endif
	};
	atomic {                                        /* reopen: a denial means that the word is not full */
		if
		:: meta[s] == m -> meta[s] = WITH(m, LIVE); denied()
		:: else -> m = 0; goto deny
		fi
	};
#else
#include "two.pml"
#endif
moved:
	assert(!held);                                  /* a pinned key stays */
	d_step { s = 0; f = 0; f0 = 0; at = 0; i = 0; m = 0 };
	goto look;
#ifdef PINNING
pinned:
	m = meta[s];
	if
	:: INC(m) != i || !VISIBLE(m) -> d_step { s = 0; i = 0; m = 0 }; goto look
	:: else
	fi;
	atomic {                                        /* CAS pins+1, and reopen */
		if
		:: meta[s] == m -> meta[s] = WITH(m, LIVE) + 4; gpin[s]++; m = 0; held = true
		:: else -> m = 0; goto pinned
		fi
	};
	pin = false;                                    /* take on it, then release */
	goto touch;
#endif
done:	skip;
	d_step { f = 0; f0 = 0; at = 0; h = 0; w = 0; ok = false; fast = false; m = 0 };
#ifdef PINNING
	if
	:: held ->
unpin:
		m = meta[s];
		atomic {
			if
			:: meta[s] == m -> assert(PINS(m) > 0 && INC(m) == i); meta[s] = m - 4; gpin[s]--; held = false; m = 0
			:: else -> m = 0; goto unpin
			fi
		}
	:: else
	fi;
#endif
	d_step { s = 0; i = 0; now = 0 };
	if
	:: ops > 0 -> goto call
	:: else
	fi
}

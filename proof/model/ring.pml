/* A rolling limit (bucket/rolling.go, ring.go, rollinfo.go): the word says how many tokens were taken and when the last
 * were; the ring beside it, by groups of 2^G tokens, when each was. Callers take (takeLone), helping whoever took before
 * them, bring the key in (open), and give back (giveBack); an evictor frees the slot, and the next key finds in the ring what
 * the last one left there. Every load, store and compare-and-swap is one step, and whoever makes it may stall before it for
 * as long as the rest takes: rounds of the ring, or lives of keys. */
#include "ringstate.pml"

#define TAKE   0
#define REFUND 1        /* gives back what it took, at any time */

/* The date of group x by the take w, in an entry that holds e: a group that had tokens keeps its voids. */
#define DATED  E(T(w), (x == GROUP(S(b)) && (S(b) & ((1 << G) - 1)) != 0 -> V(e) : 0))

/* What a gift is doing, as complete is part of it. */
#define NONE 0
#define RING 1          /* begin */
#define LAP  2          /* has the ring gone round to the entry that was loaded? */

proctype Caller(byte n; byte ops; byte kind) {
	byte i, at, e, x, lo;
	byte f, left, to, mode; /* a gift's: entry, tokens not given back yet, tokens in the ring when it began */
	short w, b;
	bit due, fits, bad;     /* a denial is right; it fits so far; something wrong was read */
again:
	at = clk;
find:
	atomic {
		if
		:: VISIBLE(meta) -> i = INC(meta); goto load
		:: ST(meta) == FREE -> meta = WITH(meta, PRIVATE); i = INC(meta); at = MAX(at, flr)
		/* Else another brings the key in: it is there, or gone, next time. */
		fi
	};
	base = B(i, 0, 0);                                      /* open: the entries stay as they are */
	word = W(i, n, at);
	atomic {
		d_step { meta = WITH(meta, LIVE); forget(); swapped(0, n, at); passed(at, n) };
		if
		:: kind == REFUND -> goto refund
		:: kind == TAKE -> goto took
		fi
	};

load:
	atomic {
		w = word;
		if
		:: mode != NONE -> goto complete
		:: mode == NONE
		fi
	};
	if
	:: INC(meta) == i
	:: INC(meta) != i -> goto moved
	fi;
complete:
	atomic {
		b = base;
		if
		:: S(b) == CNT(w) && OWNED(b) ->
			if
			:: mode == NONE -> d_step { look(S(b), at, n) }; fits = true; goto decide
			:: mode == RING -> goto span
			:: mode == LAP  -> goto mark
			fi
#ifdef BUG_EARLY
		:: mode == NONE && S(b) < CNT(w) && OWNED(b) ->
			d_step { b = B(i, CNT(w), AGED(b, CNT(w) - S(b))); look(S(b), at, n) }; fits = true; goto decide
#endif
		:: else
		fi
	};
	atomic {
		if
		:: word != w -> goto stale
		:: word == w && !OWNED(b) ->
			if
			:: mode != NONE -> goto given
			:: mode == NONE -> goto stale
			fi
		:: word == w && OWNED(b) -> x = GROUP(S(b))
		fi
	};
date:
	do
	:: atomic { x > GROUP(CNT(w) - 1) -> x = 0; e = 0; break }
	:: atomic { x <= GROUP(CNT(w) - 1) -> e = ring[AT(x)] };
		if
#ifndef BUG_NO_LOOK
		:: atomic { word != w -> goto stale }
		:: atomic { word == w && e == DATED -> x++; e = 0; goto date }
		:: word == w && e != DATED
#else
		:: atomic { e == DATED -> x++; e = 0; goto date }
		:: atomic { e != DATED }
#endif
		fi;
		if
		:: T(e) != T(w)
		:: atomic { T(e) == T(w) && S(base) != S(b) -> x++; e = 0; goto date }
		:: T(e) == T(w) && S(base) == S(b)
		fi;
		atomic {                                        /* CAS */
			if
			:: ring[AT(x)] == e -> d_step { lo = DATED; writes(e, lo); ring[AT(x)] = lo; lo = 0 }; x++
			:: else
			fi;
			e = 0
		}
	od;
	atomic {                                                /* CAS */
		if
		:: base == b -> base = B(i, CNT(w), AGED(b, CNT(w) - S(b)))
		:: else
		fi;
		b = 0;
		goto complete
	};
stale:
	atomic { w = 0; b = 0; e = 0; x = 0; fits = false; due = false; bad = false; goto load };

decide: /* tryRolling */
	if
	:: atomic { VOIDS(b) == 0 && S(b) + n <= N }
	:: atomic { VOIDS(b) == 0 && S(b) + n > N ->
		x = GROUP(S(b) + n - N - 1); e = ring[AT(x)]; fits = OVER(e);
		d_step { reads(x, e) } }
	:: atomic { VOIDS(b) != 0 -> x = FIRST(S(b)); lo = 0 };
		do
		:: atomic { x < GROUPS(S(b)) ->
			e = ring[AT(x)];
			d_step { reads(x, e) };
			lo = lo + (OVER(e) -> 0 : IN(e, x, S(b))); x++ }
		:: atomic { x >= GROUPS(S(b)) -> fits = (lo + n <= N); x = GROUP(S(b) + n - 1); lo = 0; break }
		od;
#ifndef BUG_NO_ROOM
		if                                              /* hasRoom */
		:: atomic { fits && x >= R -> e = ring[AT(x)]; fits = OVER(e); d_step { reads(x - R, e) } }
		:: atomic { !fits || x < R }
		fi
#endif
	fi;
	atomic {
		e = 0; x = 0;
		if
#ifndef BUG_NOT_AGAIN
		:: !fits && word != w -> goto stale
		:: !fits && word == w
#else
		:: !fits
#endif
		:: fits && word != w -> goto stale
		:: fits && word == w ->                         /* CAS */
			d_step {
				b = S(b); x = MAX(T(w), at); word = W(i, b + n, x);
				if
				:: INC(meta) == i && VISIBLE(meta) -> swapped(b, n, x)
				:: else
				fi
			}
		fi;
		w = 0; b = 0; x = 0
	};
settle:
	atomic {
		e = meta;
		if
		:: INC(e) != i -> goto moved
		:: INC(e) == i && ST(e) == LIVE -> goto settled
		:: INC(e) == i && ST(e) != LIVE
		fi
	};
	atomic {
		if
		:: meta == e -> meta = WITH(e, LIVE)
		:: meta != e -> e = 0; goto settle
		fi
	};
settled:
	atomic {
		CLAIM(!bad);
		e = 0;
		if
		:: !fits -> CLAIM(due); goto took
		:: fits && kind == TAKE -> d_step { passed(at, n) }; goto took
		:: fits && kind == REFUND -> d_step { passed(at, n) }; fits = false; due = false
		fi
	};

refund:
	atomic {                                                /* begin */
		if
		:: !busy -> busy = true; cnt[at] = cnt[at] - n; left = n
		:: true -> goto took
		fi
	};
	atomic {
		if
		:: clk - at >= SPAN || INC(meta) != i -> goto given
		:: clk - at < SPAN && INC(meta) == i -> mode = RING; goto load
		fi
	};
span:   /* inSpan: the first group that is not before at */
	atomic { to = S(b); x = FIRST(to); lo = GROUPS(to); w = 0; b = 0 };
	do
	:: atomic { x < lo ->
		e = ring[AT((x + lo)/2)];
		if
		:: T(e) < at -> x = (x + lo)/2 + 1
		:: else -> lo = (x + lo)/2
		fi;
		e = 0 }
	:: atomic { x >= lo -> x = 0; break }
	od;
void:   /* group lo */
	atomic {
		if
		:: lo >= GROUPS(to) || left == 0 -> goto given
		:: else -> f = ring[AT(lo)]
		fi;
#ifdef BUG_OTHER_LAP
		if
		:: IN(f, lo, to) <= 0 -> lo++; f = 0; goto void
		:: else
		fi
	};
	atomic { b = base; goto mark };
#else
		mode = LAP; goto load
	};
#endif
mark:
	atomic {
#ifdef BUG_OTHER_LAP
		if
		:: !OWNED(b) -> goto given
		:: else
		fi;
#else
		if
		:: GROUP(S(b) - 1) >= lo + R -> goto given      /* others' by now */
		:: else
		fi;
#endif
		w = 0; b = 0;
		if
		:: IN(f, lo, to) <= 0 -> lo++; f = 0; goto void
		:: else
		fi
	};
	atomic {
		if
		:: ring[AT(lo)] == f ->                         /* CAS */
			d_step {
				x = MIN(left, IN(f, lo, to));
				marks(lo, f, x); ring[AT(lo)] = E(T(f), V(f) + x); left = left - x; f = 0
			}
		:: else -> f = 0; goto void
		fi
	};
tell:
	b = base;
	atomic {
		e = GROUP(S(b)) + 1 - lo;
		if
		:: !OWNED(b) || e > R || VOIDS(b) > 0 && VOIDS(b) <= e
		:: else ->
			if
			:: base == b -> base = B(i, S(b), e)    /* CAS */
			:: else -> e = 0; b = 0; goto tell
			fi
		fi;
		d_step {
			if
			:: INC(meta) == i && VISIBLE(meta) -> back[lo] = back[lo] + x
			:: else
			fi;
			x = 0; e = 0; b = 0; lo++
		};
		goto void
	};
given:
	atomic { busy = false; goto took };

moved:
	atomic { i = 0; e = 0; w = 0; b = 0; fits = false; due = false; bad = false; goto find };
took:
	atomic {
		i = 0; at = 0; e = 0; x = 0; lo = 0; f = 0; left = 0; to = 0; mode = NONE; w = 0; b = 0; fits = false; due = false; bad = false;
		ops--;
		if
		:: ops > 0 -> goto again
		:: else
		fi
	}
}

#ifndef N1
#define N1 1
#endif
#ifndef N2
#define N2 2
#endif
#ifndef OPS1
#define OPS1 2
#endif
#ifndef OPS2
#define OPS2 2
#endif
#ifndef KIND1
#define KIND1 TAKE
#endif
#ifndef KIND2
#define KIND2 TAKE
#endif

init {
	atomic {
		run Clock();
		run Caller(N1, OPS1, KIND1);
		run Caller(N2, OPS2, KIND2);
#ifdef N3
		run Caller(N3, OPS3, KIND3);
#endif
#ifdef TRIES
		run Evictor(TRIES, 0);
#endif
#ifdef FORCED
		run Evictor(FORCED, 1)
#endif
	}
}

/* A rolling limit (bucket/rolling.go, ring.go, rollinfo.go): the word says how many tokens were taken and when the last
 * were; the ring beside it, by groups of 2^G tokens, when each was. Callers take (takeLone), helping whoever took before
 * them, bring the key in (open), and give back (giveBack); an evictor frees the slot, and the next key finds in the ring what
 * the last one left there. Every load, store and compare-and-swap is one step, and whoever makes it may stall before it for
 * as long as the rest takes: rounds of the ring, or lives of keys. */
#include "ringstate.pml"

#define TAKE   0
#define REFUND 1        /* gives back what it took, at any time, or not at all; the key is pinned meanwhile */
#define ROLL   2        /* the same with no pin */

/* The date of group x by the take w, in an entry that holds e: a group that had tokens keeps its voids. */
#define DATED  E(T(w), (x == GROUP(S(b)) && (S(b) & ((1 << G) - 1)) != 0 -> V(e) : 0))

/* The decision stands. */
inline stands() {
	CLAIM(!bad && (fits || due));
	if
	:: fits -> passed(at, n)
	:: !fits
	fi
}

/* Tell the base of a void in group lo. v is for the caller's use. */
inline tells(v) {
	do
	:: b = base;
		atomic {
			v = GROUP(S(b)) + 1 - lo;
			if
			:: !OWNED(b) || v > R || VOIDS(b) > 0 && VOIDS(b) <= v -> b = 0; v = 0; break
			:: else ->
				if
				:: base == b -> base = B(i, S(b), v); b = 0; v = 0; break       /* CAS */
				:: base != b -> b = 0; v = 0
				fi
			fi
		}
	od
}

proctype Caller(byte n; byte ops; byte kind) {
	byte i, at, e, x, lo;
	byte left, to;          /* a gift's: tokens not given back yet; tokens in the ring */
	short w, b;
	bit giving;
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
#ifndef BUG_RING_NOT_OPENED
	base = B(i, 0, 0);                                      /* open: the entries stay as they are */
#endif
	word = W(i, n, at);
	atomic {
		d_step { meta = WITH(meta, LIVE); forget(); swapped(0, n, at); passed(at, n) };
		if
		:: kind == TAKE -> goto took
		:: kind != TAKE -> goto refund
		fi
	};

load:
	w = word;
	if
	:: INC(meta) == i
	:: INC(meta) != i -> goto moved
	fi;
complete:
	atomic {
		b = base;
		if
		:: S(b) == CNT(w) && OWNED(b) -> goto whole
#ifdef BUG_RING_EARLY
		:: !giving && S(b) < CNT(w) && OWNED(b) -> b = B(i, CNT(w), AGED(b, CNT(w) - S(b))); goto whole
#endif
		:: else
		fi
	};
	atomic {
		if
		:: word != w -> goto stale
		:: word == w && !OWNED(b) -> goto stale
		:: word == w && OWNED(b) -> x = GROUP(S(b))
		fi
	};
date:
	do
	:: atomic { x > GROUP(CNT(w) - 1) -> x = 0; e = 0; break }
	:: atomic { x <= GROUP(CNT(w) - 1) -> e = ring[AT(x)] };
		if
#ifndef BUG_RING_NO_LOOK
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
			:: ring[AT(x)] == e -> d_step { lo = DATED; writes(x, e, lo); ring[AT(x)] = lo; lo = 0 }; x++
			:: else
			fi;
			e = 0
		}
	od;
	atomic {                                                /* CAS */
		if
		:: base == b -> b = B(i, CNT(w), AGED(b, CNT(w) - S(b))); base = b
		:: else -> b = 0; goto complete
		fi;
whole:		if
		:: giving -> goto span
		:: !giving -> d_step { look(S(b), at, n) }; fits = true
		fi
	};
	goto decide;
stale:
	atomic {
		w = 0; b = 0; e = 0; x = 0; lo = 0; to = 0; fits = false; due = false; bad = false;
		if
		:: giving -> goto give
		:: !giving -> goto load
		fi
	};

decide: /* tryRolling */
#ifdef BUG_RING_TELL_FIRST
#define MORE (VOIDS(b) != 0)                            /* room for one more, says the base */
#define ONE_LOOK true
#else
#define MORE 0
#define ONE_LOOK (VOIDS(b) == 0)
#endif
	if
	:: atomic { ONE_LOOK && S(b) + n <= N + MORE }
	:: atomic { ONE_LOOK && S(b) + n > N + MORE ->
		x = GROUP(S(b) + n - N - MORE - 1); e = ring[AT(x)]; fits = OVER(e);
		d_step { reads(x, e) } }
	:: atomic { !ONE_LOOK -> x = FIRST(S(b)); lo = 0 };
		do
		:: atomic { x < GROUPS(S(b)) ->
			e = ring[AT(x)];
			d_step { reads(x, e) };
			lo = lo + (OVER(e) -> 0 : IN(e, x, S(b))); x++ }
		:: atomic { x >= GROUPS(S(b)) -> fits = (lo + n <= N); x = GROUP(S(b) + n - 1); lo = 0; break }
		od;
#ifndef BUG_RING_NO_ROOM
		if                                              /* hasRoom */
		:: atomic { fits && x >= R -> e = ring[AT(x)]; fits = OVER(e); d_step { reads(x - R, e) } }
		:: atomic { !fits || x < R }
		fi
#endif
	fi;
	atomic {
		e = 0; x = 0;
		if
#ifndef BUG_RING_NOT_AGAIN
		:: !fits && word != w -> goto stale
		:: !fits && word == w -> d_step { look(CNT(word), at, n) }
#else
		:: !fits -> d_step { if :: INC(meta) == i && VISIBLE(meta) -> look(CNT(word), at, n) :: else fi }
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
		:: INC(e) == i && ST(e) == LIVE -> d_step { stands() }; goto settled
		:: INC(e) == i && ST(e) != LIVE
		fi
	};
	atomic {                                                /* CAS: reopen */
		if
		:: meta == e -> d_step { meta = WITH(e, LIVE); stands() }
		:: meta != e -> e = 0; goto settle
		fi
	};
settled:
	atomic {
		e = 0;
		if
		:: !fits || kind == TAKE -> goto took
		:: fits && kind != TAKE -> fits = false; due = false
		fi
	};

refund:
	atomic {                                                /* begin */
		if
		:: !busy ->
			busy = true; giving = true; left = n;
			if
			:: INC(meta) == i ->
				cnt[at] = cnt[at] - n;
				if
				:: kind == REFUND -> meta = WITH(meta, LIVE) + PIN
				:: kind == ROLL
				fi
			:: INC(meta) != i && kind == REFUND -> goto given
			:: INC(meta) != i && kind == ROLL
			fi
		:: true -> goto took
		fi
	};
give:	/* giveBack. The word, and then the time, which no taker in the word was later than */
	w = word;
	if
	:: clk - at < SPAN
	:: clk - at >= SPAN -> goto given
	fi;
	if
	:: INC(meta) == i -> goto complete
	:: INC(meta) != i -> goto given
	fi;
span:   /* inSpan: the first group that is not before at */
	atomic { to = S(b); x = FIRST(to); lo = GROUPS(to); b = 0 };
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
		:: else -> e = ring[AT(lo)]
		fi
	};
#ifdef BUG_RING_OTHER_LAP
	if
	:: OWNED(base)
	:: !OWNED(base) -> goto given
	fi;
#else
	if
	:: word == w
	:: word != w -> goto stale
	fi;
#endif
#ifdef BUG_RING_TELL_FIRST
	tells(x);
#endif
	atomic {
		if
		:: IN(e, lo, to) <= 0 -> lo++; e = 0; goto void
		:: IN(e, lo, to) > 0 && ring[AT(lo)] == e ->    /* CAS */
			d_step {
				x = MIN(left, IN(e, lo, to));
				marks(lo, e, x); ring[AT(lo)] = E(T(e), V(e) + x); left = left - x; e = 0
			}
		:: IN(e, lo, to) > 0 && ring[AT(lo)] != e -> e = 0; goto void
		fi
	};
#ifndef BUG_RING_TELL_FIRST
	tells(e);
#endif
	atomic {
		d_step {
			if
			:: INC(meta) == i && VISIBLE(meta) -> back[lo] = back[lo] + x
			:: else
			fi;
			x = 0; lo++
		};
		goto void
	};
given:
	atomic {
		busy = false;
		if
		:: kind == REFUND && INC(meta) == i -> meta = meta - PIN
		:: else
		fi;
		goto took
	};

moved:
	atomic { i = 0; e = 0; w = 0; b = 0; fits = false; due = false; bad = false; goto find };
took:
	atomic {
		i = 0; at = 0; e = 0; x = 0; lo = 0; left = 0; to = 0; giving = false; w = 0; b = 0; fits = false; due = false; bad = false;
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
#ifdef USED     /* tokens, at time 0, by takes that are complete */
		meta = LIVE; word = W(0, USED, 0); base = B(0, USED, 0); cnt[0] = USED;
#endif
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

/* A live change of a policy of one limit: takers (takeOne), one of whom may bring the key in or give back what it took,
 * while Change puts one generation after the other into force. Every load, store and compare-and-swap is one step, and
 * whoever makes it may stall before it for as long as the rest takes. */
#include "plans.pml"

#define TAKE   0
#define REFUND 1        /* a handle's take, given back at any time */

#ifdef FREEZE
byte finished;
#define FINISHED finished++
#else
#define FINISHED skip
#endif

proctype Taker(byte n; byte ops; byte kind) {
	byte at, f, fg, p, v, d, b, s, first, r;
again:
	at = clk;
find:
	atomic {
		if
		:: st == LIVE ->                                /* touch */
			if
			:: at < seen -> at = seen
			:: at > seen + GRAIN -> seen = at
			:: else
			fi;
			goto load
#ifdef BUG_EARLY_PLAN
		:: st == FREE -> p = pub
		fi
	};
	atomic {
		if
		:: st == FREE -> st = PRIVATE
		:: else -> p = 0; goto find
		fi
	};
#else
		:: st == FREE -> st = PRIVATE                   /* claim */
		/* Else it would write a slot of its own, fail to announce it, and find the key. */
		fi
	};
	p = pub;                                                /* open */
#endif
	d_step { w[0] = (at + n*C(p))*2 + PAR(p); seen = at };
	d_step { st = LIVE; wg[0] = p; last[0] = at; CNT(0,p,at) = n; judge(0) };
	goto took;
load:
#ifdef BUG_PLAN_FIRST
	p = pub;
	atomic { f = w[0]; fg = wg[0] };
#else
	atomic { f = w[0]; fg = wg[0] };
	p = pub;
#endif
#ifdef BUG_TAKER_WAITS
	(w[0] & 1) == PAR(p);
#endif
#if !defined(BUG_DATE_OF_PLAN) && !defined(BUG_OWN_TIME)
	if                                                      /* seen, after the word: as late as any time in it */
	:: (f & 1) != PAR(p) -> s = seen
	:: (f & 1) == PAR(p)
	fi;
#endif
	d_step { s = MAX(at, s); current(0, f, p, s); b = MAX(v, at) };
	if
	:: atomic { b + n*C(p) - at > CAP(p)*C(p) ->            /* denied, if the word is the same still */
#ifndef BUG_NOT_AGAIN
		if
		:: IS(0,f,fg)
		:: else -> v = 0; d = 0; b = 0; s = 0; goto load
		fi;
#endif
		own_units = READ(0, fg, p); CLAIM(own_units);
		goto took }
	:: atomic { b + n*C(p) - at <= CAP(p)*C(p) ->
		if
		:: IS(0,f,fg) ->                                /* CAS(F, F') */
			d_step {
				convert(0, f, p);
				w[0] = (b + n*C(p))*2 + PAR(p);
				last[0] = MAX(last[0], at); CNT(0,wg[0],at) = CNT(0,wg[0],at) + n;
				judge(0)
			};
			first = b + n*C(p); r = p
		:: else -> v = 0; d = 0; b = 0; s = 0; goto load
		fi;
		v = 0; d = 0; s = 0; f = 0; fg = 0;
		if
		:: kind == TAKE -> goto took
		:: else
		fi
		}
	fi;
	d_step { seen = MAX(seen, at) };                        /* see */
	p = pub;                                                /* Refund. r is the generation of the take, b its base */
	if
	:: atomic { r < SINCE(0,p) -> goto took }               /* Had */
	:: r >= SINCE(0,p)
	fi;
lower:
	atomic { f = w[0]; fg = wg[0] };
	s = seen;                                               /* newest: seen and then the clock, both after the word */
	atomic {
		s = MAX(MIN(MAX(s, clk), s + GRAIN), at);
		if
		:: f == first*2 + PAR(r) && p == r -> s = at; d = n*C(p)        /* nobody charged since */
		:: else -> d = SUB(n*C(p), SUB(s, MAX(at, b)))
		fi;
		if
		:: d == 0 || (f & 1) != PAR(p) -> goto took
		:: else
		fi
	};
#ifndef BUG_NO_GEN
	if
	:: atomic { pub != p -> goto took }
	:: pub == p
	fi;
#endif
	atomic {
		if
		:: IS(0,f,fg) ->
			d_step {
				own_units = READ(0, wg[0], p); CLAIM(own_units);
				w[0] = (f/2 - MIN(d, SUB(f/2, s)))*2 + PAR(p);
				CNT(0,r,at) = CNT(0,r,at) - n;
				judge(0)
			}
		:: else -> s = 0; d = 0; goto lower
		fi
	};
took:
	atomic {
		v = 0; d = 0; b = 0; s = 0; f = 0; fg = 0; first = 0; r = 0; p = 0; at = 0;
		ops--;
		if
		:: ops > 0 -> goto again
		:: else -> FINISHED
		fi
	}
}

#ifndef OPS1
#define OPS1 1
#endif
#ifndef OPS2
#define OPS2 1
#endif
#ifndef N1
#define N1 1
#endif
#ifndef N2
#define N2 1
#endif
#ifndef KIND2
#define KIND2 TAKE
#endif
#ifndef USED
#define USED 1          /* at time 0; NEW: the key is not there yet */
#endif

init {
	atomic {
#ifndef NEW
		st = LIVE; w[0] = USED*C(0)*2; CNT(0,0,0) = USED;
#endif
		run Clock();
		run Taker(N1, OPS1, TAKE);
		run Taker(N2, OPS2, KIND2);
#ifdef BUG_OVERLAP
		run Change(1, 1);
		run Change(2, 2)
#else
		run Change(1, GENS-1)
#endif
	};
#ifdef FREEZE
	frozen = true;
	atomic { timeout -> assert(finished == 2); frozen = false }
#endif
}

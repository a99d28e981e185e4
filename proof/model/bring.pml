/* A change that brings a limit into force, whose word no slot has written, or wrote generations ago: Plan.Prepare gives
 * it the present parity first, in slots by the walk and in new ones by their inserters. Takers take one token from all
 * limits in force or from none (takeAll), and roll back. */
#define NW 2
#include "plans.pml"

#ifndef JUNK
#define JUNK 7          /* what is in word 1 at first: 3 ticks, parity 1 */
#endif

bit busy;               /* gifts: one roll-back at a time */

/* The next word in force from k on. */
#define NEXT(k) ((k) == 0 && !ACTIVE(0,p) -> 1 : ((k) == 1 && !ACTIVE(1,p) -> 2 : (k)))
#define EACH(k) (k) < NW

/* What a take at time at makes of word k, as loaded. */
inline compute(k) { s = MAX(s, at); fk = f[k]; current(k, fk, p, s); v = MAX(v, at) + C(p) }

proctype Taker(byte ops) {
	byte at, p, k, v, d, s, fk;
	byte f[NW], fg[NW];
	bit q;
again:
	at = clk;
	atomic {
		if
		:: st == LIVE -> at = MAX(at, seen); seen = at; goto load       /* touch */
		:: st == FREE -> st = PRIVATE
		fi
	};
	atomic { p = pub; q = prep };                           /* open */
	d_step {
		k = 0; seen = at;
		do
		:: k >= NW -> break
		:: k < NW ->
			if
			:: ACTIVE(k,p) -> w[k] = (at + C(p))*2 + PAR(p); wg[k] = p; last[k] = at; CNT(k,p,at) = 1
#ifndef BUG_NO_INIT
			:: !ACTIVE(k,p) && q && ACTIVE(k,p+1) -> w[k] = PAR(p); wg[k] = p
#endif
			:: else
			fi;
			k++
		od
	};
	st = LIVE;
	goto took;
load:
	atomic { p = pub; q = prep; k = NEXT(0) };
	do
	:: atomic { EACH(k) -> f[k] = w[k]; fg[k] = wg[k]; k = NEXT(k+1) }
	:: atomic { !(EACH(k)) -> break }
	od;
#ifndef BUG_NOT_AGAIN
	if
	:: atomic { pub != p || prep != q -> goto load }
	:: pub == p && prep == q
	fi;
#endif
	s = seen;
	atomic {                                                /* look */
		k = NEXT(0);
		do
		:: !(EACH(k)) -> break
		:: EACH(k) ->
			fk = fg[k];
			own_units = READ(k, fk, p); CLAIM(own_units);
			compute(k);
			if
			:: v - at > ROOM(k,p)*C(p) -> goto took         /* denied */
			:: else
			fi;
			k = NEXT(k+1)
		od;
		k = NEXT(0); v = 0; d = 0; fk = 0
	};
charge:
	atomic {
		if
		:: !(EACH(k)) -> goto took
		:: EACH(k) && IS(k,f[k],fg[k]) ->               /* CAS */
			d_step {
				s = MAX(s, at); fk = f[k];
				current(k, fk, p, s);
				convert(k, fk, p);
				w[k] = (MAX(v, at) + C(p))*2 + PAR(p);
				last[k] = MAX(last[k], at); CNT(k,wg[k],at) = CNT(k,wg[k],at) + 1;
				judge(k);
				k = NEXT(k+1); v = 0; d = 0; fk = 0
			};
			goto charge
		:: else
		fi
	};
	atomic { f[k] = w[k]; fg[k] = wg[k] };
	if
	:: atomic { pub != p || prep != q -> goto uncharge }
	:: pub == p && prep == q
	fi;
	s = seen;
	atomic {
		compute(k);
		fk = v; v = 0; d = 0;
		if
		:: fk - at <= ROOM(k,p)*C(p) -> fk = 0; goto charge
		:: else -> fk = 0
		fi
	};
uncharge:                                                       /* at most word 0 was charged */
	atomic {
		if
		:: k == NEXT(0) -> goto load
		:: k != NEXT(0) && !busy -> busy = true; k = 0
		:: k != NEXT(0) -> goto load                    /* tried often enough: the charge is lost */
		fi
	};
lower:
	atomic { f[0] = w[0]; fg[0] = wg[0] };
	s = seen;
	atomic {
		s = MAX(s, at); d = SUB(C(p), SUB(s, at));
		if
		:: d == 0 || (f[0] & 1) != PAR(p) -> goto lowered
		:: else
		fi
	};
	if
	:: atomic { pub != p -> goto lowered }
	:: pub == p
	fi;
	atomic {
		if
		:: IS(0,f[0],fg[0]) ->
			d_step {
				own_units = READ(0, wg[0], p); CLAIM(own_units);
				w[0] = (f[0]/2 - MIN(d, SUB(f[0]/2, s)))*2 + PAR(p);
				CNT(0,p,at) = CNT(0,p,at) - 1;
				judge(0)
			}
		:: else -> goto lower
		fi
	};
lowered:
	atomic { busy = false; d = 0; s = 0; goto load };
took:
	atomic {
		at = 0; p = 0; q = 0; k = 0; v = 0; d = 0; s = 0; fk = 0; f[0] = 0; f[1] = 0; fg[0] = 0; fg[1] = 0;
		ops--;
		if
		:: ops > 0 -> goto again
		:: else
		fi
	}
}

#ifndef OPS1
#define OPS1 1
#endif
#ifndef OPS2
#define OPS2 1
#endif

init {
	atomic {
		w[1] = JUNK; wg[1] = NONE;
#ifndef NEW
		st = LIVE; w[0] = C(0)*2; CNT(0,0,0) = 1;
		if
		:: ACTIVE(1,0) -> w[1] = C(0)*2; wg[1] = 0; CNT(1,0,0) = 1
		:: else
		fi;
#endif
		run Clock();
		run Taker(OPS1);
		run Taker(OPS2);
		run Change(1, GENS-1)
	}
}

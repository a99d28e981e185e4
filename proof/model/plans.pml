/* Generations of a policy, the change from one to the next (shard/change.go, bucket/plan.go), and the ghosts that judge
 * it. There is one slot and one key.
 *
 * A word is the time at which the bucket is full again, in ticks, and the parity of its generation. In generation g a
 * token costs C(g) ticks, so words of two rates are in different units. The ghost wg tells the generation truly. */
#ifndef GENS
#define GENS 3          /* generations are 0..GENS-1 */
#endif
#ifndef NW
#define NW 1            /* words of the slot */
#endif
#ifndef TMAX
#define TMAX 2          /* the clock runs from 0 to TMAX */
#endif
#ifndef GRAIN
#define GRAIN 0         /* ticks by which seen may lag */
#endif
#ifndef C0
#define C0 1            /* ticks that a token needs to come back, by generation: 1, 2 or 4 */
#endif
#ifndef C1
#define C1 C0
#endif
#ifndef C2
#define C2 C1
#endif
#ifndef CAP0
#define CAP0 2          /* capacities, in tokens */
#endif
#ifndef CAP1
#define CAP1 CAP0
#endif
#ifndef CAP2
#define CAP2 CAP1
#endif
#ifndef CAPB
#define CAPB 2          /* of word 1, always */
#endif
#ifndef HAS0
#define HAS0 1          /* bit sets of the words in force */
#endif
#ifndef HAS1
#define HAS1 HAS0
#endif
#ifndef HAS2
#define HAS2 HAS1
#endif
#define PICK(g,a,b,c) ((g) == 0 -> (a) : ((g) == 1 -> (b) : (c)))
#define C(g)   PICK(g,C0,C1,C2)
#define CAP(g) PICK(g,CAP0,CAP1,CAP2)
#if NW > 1
#define ROOM(k,g) ((k) -> CAPB : CAP(g))
#else
#define ROOM(k,g) CAP(g)
#endif
#define HAS(g) PICK(g,HAS0,HAS1,HAS2)
#define ACTIVE(k,g) ((HAS(g) >> (k)) & 1)
#define FRESH(k,g)  ((g) > 0 && !ACTIVE(k,(g)-1))       /* starts full */
#ifdef BUG_NO_PARITY
#define PAR(g) 0
#else
#define PAR(g) ((g) & 1)
#endif
/* Plan.since: the generation that brought limit k its rate. */
#define SINCE1(k)  (FRESH(k,1) || (C1) != (C0) -> 1 : 0)
#define SINCE2(k)  (FRESH(k,2) || (C2) != (C1) -> 2 : SINCE1(k))
#define SINCE(k,g) PICK(g,0,SINCE1(k),SINCE2(k))

#define MAX(a,b) ((a) > (b) -> (a) : (b))
#define MIN(a,b) ((a) < (b) -> (a) : (b))
#define SUB(a,b) ((a) > (b) -> (a) - (b) : 0)

#define FREE    0
#define PRIVATE 1
#define LIVE    2

byte st;                /* state of the slot */
byte w[NW];             /* twice the time, and the parity */
byte seen;
byte clk;
byte pub;               /* generation of the plan in force */
#if NW > 1
bit  prep;              /* it also names the words of the next one (Plan.Prepare) */
#else
#define prep 0
#endif
byte date[GENS];        /* when a generation began: Plan.changed */

/* Word k is the one that was loaded as f, when it was of generation g. A number is a position on an axis of its
 * generation's own, so one of another generation is another number. */
#ifdef BUG_ONE_AXIS
#define IS(k,f,g) (w[k] == (f))
#else
#define IS(k,f,g) (w[k] == (f) && wg[k] == (g))
#endif

#ifdef BOUND_ONLY       /* to see what a bug costs */
#define CLAIM(x) skip
#else
#define CLAIM(x) assert(x)
#endif

/* Ghosts: never read by the protocol. */
#define NONE 9
#define L    4                                          /* parts of a token */
#define CNT(k,g,t) cnt[((k)*GENS+(g))*(TMAX+1)+(t)]
#define CONV(k,g)  conv[(k)*GENS+(g)]
byte wg[NW];                                            /* the word's generation; NONE: nobody wrote it */
byte last[NW];                                          /* the newest time that was charged */
byte cnt[NW*GENS*(TMAX+1)];                             /* tokens taken and not given back, by generation and time */
byte conv[NW*GENS];                                     /* the date by which the word was converted */
hidden byte ga, gg, gt, gu, gs;
hidden byte bound, shown, own_units, converted_once, nothing_refilled, no_more_used, all_converted;

/* Replays what was taken, exactly: gu parts are used at time gt. Within a generation it goes in the order of times, so
 * in every span no more than the capacity and what came back was taken. And the word shows at least what is used. */
inline judge(k) {
	gu = 0; gt = 0; gg = 0;
	do
	:: gg > wg[k] -> break
	:: else ->
		if
		:: gg > 0 && SINCE(k,gg) == gg ->
			gu = (FRESH(k,gg) -> 0 : SUB(gu, SUB(CONV(k,gg), gt) * (L/C(gg-1))));
			gt = MAX(gt, CONV(k,gg))
		:: else
		fi;
		ga = 0;
		do
		:: ga > TMAX -> break
		:: else ->
			if
			:: CNT(k,gg,ga) > 0 ->
				gu = SUB(gu, SUB(ga, gt) * (L/C(gg))) + CNT(k,gg,ga) * L;
				gt = MAX(gt, ga);
				bound = (gu <= ROOM(k,gg) * L); assert(bound)
			:: else
			fi;
			ga++
		od;
		gg++
	od;
	gg = wg[k]; gs = MAX(gt, seen);
	shown = (SUB(w[k]/2, gs) * L >= SUB(gu, (gs - gt) * (L/C(gg))) * C(gg)); CLAIM(shown)
}

/* A word of generation g that is read as one of p is read in its own units, or converted from them. */
#define READ(k,g,p) ((p) == (g) || (p) == (g) + 1 && PAR(p) != PAR(g))

/* The word f as one of generation p, to v (Plan.Current); d is the date of the conversion. newest is the newest time that
 * is in the word. A later date is the safe side where the rate grows, so that is the latest that seen can hide. */
inline current(k, f, p, newest) {
	if
	:: (f & 1) == PAR(p) || p == 0 -> v = f/2
	:: else ->
#ifdef BUG_DATE_OF_PLAN
		d = date[p];
#else
		d = newest;
		if
		:: C(p) < C(p-1) && f/2 > date[p] -> d = d + GRAIN
		:: else
		fi;
		d = MAX(d, date[p]);
#endif
		if
		:: FRESH(k,p) -> v = d
		:: !FRESH(k,p) && C(p) == C(p-1) -> v = f/2
		:: else -> v = d + (SUB(f/2, d) * C(p) + C(p-1) - 1) / C(p-1)
		fi
	fi
}

/* Word k is being swapped by one who read it, as f, as one of generation p, and made it v. It is converted once; and then
 * what was used at the time of the last take stays used, in tokens, rounded up, and no more. */
inline convert(k, f, p) {
	converted_once = (p >= wg[k]); CLAIM(converted_once);
	own_units = READ(k, wg[k], p); CLAIM(own_units);
	if
	:: p > wg[k] && !FRESH(k,p) && C(p) != C(p-1) ->
		gt = MAX(d, last[k]);
		nothing_refilled = (SUB(v, gt) * C(p-1) >= SUB(f/2, gt) * C(p)); CLAIM(nothing_refilled);
		no_more_used = (SUB(v, gt) * C(p-1) < SUB(f/2, gt) * C(p) + C(p-1) + GRAIN * C(p)); CLAIM(no_more_used)
	:: else
	fi;
	if
	:: p > wg[k] -> CONV(k,p) = (SINCE(k,p) == p -> MIN(d, clk) : 0); wg[k] = p
	:: else
	fi
}

/* Table.Change for the generations g to to, one after the other, as Apply's mutex has it. */
#ifdef FREEZE
bit frozen;             /* it stalls; then the takers have to finish all the same */
#define RUNS provided (!frozen)
#else
#define RUNS
#endif
#ifdef BUG_NO_WAIT
#define WRITTEN true
#else
#define WRITTEN (st != PRIVATE)
#endif
#ifdef BUG_OVERLAP
#define AFTER(g) (pub == (g)-1)
#else
#define AFTER(g) true
#endif

proctype Change(byte g; byte to) RUNS {
	byte k, f, fg, v, d, s;
next:
	if
	:: g > to -> goto done
	:: g <= to && AFTER(g)
	fi;
	date[g] = clk;                                  /* Apply reads the clock */
#if NW > 1
	if
	:: HAS(g) & ~HAS(g-1) ->
#ifdef BUG_NEXT_FIRST
		pub = g;
#elif !defined(BUG_NO_PREPARE)
		prep = true;
#endif
		atomic {
			if
			:: WRITTEN && st != LIVE -> k = NW
			:: st == LIVE -> k = 0
			fi
		};
		do
		:: atomic { k >= NW -> k = 0; break }
		:: atomic { k < NW ->
			if
			:: FRESH(k,g) -> w[k] = PAR(g-1); wg[k] = g-1
			:: else
			fi;
			k++
			}
		od
	:: else
	fi;
	atomic { pub = g; prep = false };
#else
	pub = g;
#endif
	atomic {                                        /* walk: it waits for a slot that is being written */
		if
		:: WRITTEN && st != LIVE -> goto walked
		:: st == LIVE -> k = 0
		fi
	};
word:
	atomic {
		do
		:: k < NW && !ACTIVE(k,g) -> k++
		:: k < NW && ACTIVE(k,g) -> f = w[k]; fg = wg[k]; break
		:: k >= NW -> goto walked
		od;
		if
		:: (f & 1) == PAR(g) -> k++; f = 0; fg = 0; goto word
		:: else
		fi
	};
swap:
#ifndef BUG_DATE_OF_PLAN
	s = seen;
#endif
	atomic {
		if
		:: IS(k,f,fg) ->
			d_step { current(k, f, g, s); convert(k, f, g); w[k] = v*2 + PAR(g); judge(k) };
			k++
#ifdef BUG_NO_RELOAD
		:: else -> goto swap
#else
		:: else
#endif
		fi;
		v = 0; d = 0; s = 0; f = 0; fg = 0;
		goto word
	};
walked:
	atomic {
		k = 0;
		do
		:: k >= NW -> break
		:: k < NW -> all_converted = (st != LIVE || !ACTIVE(k,g) || wg[k] >= g); CLAIM(all_converted); k++
		od;
		k = 0; g++;
		goto next
	};
done:
	skip
}

proctype Clock() {
	do
	:: clk < TMAX -> clk++
	:: clk >= TMAX -> break
	od
}

/* Giving back on one word of a pinned slot: Pin.Refund (giveback.go), and uncharge, the roll-back of a take that found
 * another limit used up (takeall.go). The slot cannot move, so meta plays no part here.
 *
 * One gift at a time (gifts.go): begin makes the key busy, end counts the gift. While it is busy nobody else lowers the
 * word. So the word only grows meanwhile, and a compare-and-swap that finds it as it was loaded proves that nobody
 * charged it since. Who finds it busy tries again, or gives nothing back: both are modelled. */
#ifndef CAP
#define CAP 4
#endif
#ifndef TMAX
#define TMAX 3
#endif
#ifndef GRAIN
#define GRAIN 0
#endif
#define MAX(a,b) ((a) > (b) -> (a) : (b))
#define MIN(a,b) ((a) < (b) -> (a) : (b))
#define SUB(a,b) ((a) > (b) -> (a) - (b) : 0)

/* What may be given back of a charge x made on base b at position p1, at position p2, when r was given since. */
#define BACK(x,b,p1,p2,r) SUB(x, SUB(p2, MAX(p1, SUB(b, r))))

byte F;                 /* the word: time at which the bucket is full again */
byte seen;              /* newest time of a taker, up to GRAIN behind */
byte given;             /* gifts: all that was given back */
bit  busy;              /* gifts: one is under way */
byte clk;
byte cnt[TMAX+1];       /* ghost: takes that were not given back, by time stamp */
hidden byte ga, gm;

/* gm: the least word that the takes counted so far allow. In every span a..b they are at most CAP + (b-a). */
inline bound() {
	gm = 0; ga = 0;
	do
	:: ga > TMAX -> break
	:: else ->
		if
		:: cnt[ga] > 0 -> gm = MAX(gm, ga) + cnt[ga]; assert(gm <= ga + CAP)
		:: else
		fi;
		ga++
	od;
	ga = 0
}
/* Nothing was minted: the word shows what they used, as far as later takers can tell. */
inline legit() { bound(); assert(F >= gm || gm <= seen); gm = 0 }

#define TAKE   0
#define REFUND 1        /* of a handle's take, which remembers the base b and what was given before it */
#define PLAIN  2        /* of the gate's take, which remembers neither: b is p1, all gifts count as given since */
#define ROLL   3        /* uncharge: b is p1, none count */

proctype Caller(byte n; byte kind) {
	byte at, f, b, d, g, p2;
	at = clk;
	if
	:: kind == REFUND -> d = given                  /* Pin.Take: before the word is loaded */
	:: else
	fi;
	d_step {                                        /* touch */
		if
		:: at < seen -> at = seen
		:: at > seen + GRAIN -> seen = at
		:: else
		fi
	};
take:
	f = F;
	if
	:: MAX(f,at) + n - at > CAP -> goto done
	:: else
	fi;
	atomic {                                        /* CAS(F, F') */
		if
		:: F == f -> b = MAX(f,at); F = b + n; cnt[at] = cnt[at] + n; bound(); gm = 0; f = 0
		:: else -> goto take
		fi
	};
	if
	:: kind == REFUND -> d_step { seen = MAX(seen, at) }    /* see */
	:: kind == TAKE -> goto done
	:: else
	fi;
#ifdef BUG_STALE_P2
	p2 = MAX(MIN(MAX(seen, clk), seen + GRAIN), at);
#endif
	atomic {                                        /* begin */
		if
#ifdef BUG_NO_LOCK
		:: true -> d = given - d; given = given + n
#else
		:: !busy -> busy = true; d = given - d  /* R; of all gifts for PLAIN */
#endif
		:: true -> goto nothing
		fi
	};
#ifdef BUG_NO_R
	d = 0;
#endif
lower:
	f = F;
#ifndef BUG_STALE_P2
	p2 = seen;                                      /* newest: seen and then the clock, both after the word */
#endif
	atomic {
#ifndef BUG_STALE_P2
		p2 = MAX(MIN(MAX(p2, clk), p2 + GRAIN), at);
#endif
		if
#ifdef BUG_UNDO_UNSURE
		:: kind != ROLL && f == b + n -> g = n; p2 = at
#else
		:: kind != ROLL && f == b + n && d == 0 -> g = n; p2 = at       /* nobody charged or gave since: undone exactly */
#endif
		:: else ->
#ifdef BUG_ALL
			g = n
#else
			g = BACK(n, (kind == REFUND -> b : at), at, p2, (kind == ROLL -> 0 : d))
#endif
		fi
	};
	atomic {
		if
		:: g == 0 -> goto refilled
		:: g > 0 && F == f -> F = f - MIN(g, SUB(f, p2)); cnt[at] = cnt[at] - n; legit()
		:: else -> goto lower
		fi
	};
counted:
#ifdef BUG_NO_LOCK
	goto done;
#else
	atomic { given = given + g; busy = false; goto done };  /* end */
#endif
refilled:                                               /* time has given all of it back already */
	atomic { cnt[at] = cnt[at] - n; legit(); goto counted };
nothing:
	atomic { cnt[at] = cnt[at] - n; legit() };      /* it counts as not taken, though nothing came back */
done:
	skip
}

proctype Clock() {
	do
	:: clk < TMAX -> clk++
	:: clk >= TMAX -> break
	od
}

#ifndef KIND1
#define KIND1 REFUND
#endif
#ifndef KIND2
#define KIND2 REFUND
#endif
#ifndef KIND3
#define KIND3 TAKE
#endif
#ifndef N3
#define N3 1
#endif
#ifndef USED
#define USED 2          /* by takes at time 0 that are never given back */
#endif

init {
	atomic {
		F = USED; cnt[0] = USED;
		run Clock();
		run Caller(1, KIND1);
		run Caller(1, KIND2);
		run Caller(N3, KIND3)
	}
}

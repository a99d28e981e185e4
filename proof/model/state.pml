/* Shared state of one table of NS slots, its packing, and the ghosts that judge it.
 * Every load, store and compare-and-swap of the protocol is one step of a process. */

#ifndef NS
#define NS 2            /* slots; every key's home is slot 0 */
#endif
#ifndef NG
#define NG 1            /* headers: key k belongs to the one of GROUP(k) */
#endif
#ifndef NW
#define NW 1            /* words of a slot: limits of a key */
#endif
#ifndef TMAX
#define TMAX 1          /* the clock runs from 0 to TMAX; one token comes back each tick */
#endif
#ifndef GRAIN
#define GRAIN 0         /* ticks by which seen may lag */
#endif
#ifndef CAP0
#define CAP0 1          /* capacities, in tokens */
#endif
#ifndef CAP1
#define CAP1 1
#endif
#define NK 3            /* keys are 1..NK */
#if NG == 2
#define GROUP(k) ((k) == 3)
#else
#define GROUP(k) 0
#endif
#if NW == 2
#define CAP(w)  ((w) == 0 -> CAP0 : CAP1)
#define COST(w) ((w) == 0 -> 1 : COST1)         /* ticks that a token needs to come back */
#ifndef COST1
#define COST1 2
#endif
#else
#define COST(w) 1
#define CAP(w) CAP0
#endif

/* meta: state, pin, round, incarnation in one word. */
#define FREE    0
#define PRIVATE 1
#define LIVE    2
#define CLOSING 3
#define ST(m)    ((m) & 3)
#define PINS(m)  (((m) >> 2) & 3)
#define RND(m)   (((m) >> 4) & 7)
#define INC(m)   ((m) >> 7)
#define WITH(m,s)     (((m) & ~3) | (s))                 /* same word, other state */
#ifdef BUG_SAME_INCARNATION
#define EMPTIED(m)    (INC(m) << 7)
#else
#define EMPTIED(m)    ((INC(m)+1) << 7)                  /* freed: the next incarnation */
#endif
#ifdef BUG_SAME_ROUND
#define CLOSED(m)     WITH(m, CLOSING)
#else
#define CLOSED(m)     (((m) & ~115) | (((m) + 16) & 112) | CLOSING)
#endif
#define VISIBLE(m)    (ST(m) >= LIVE)

/* header: version, incarnation of the pending slot, pending slot (0 = none, else slot+1), reach. */
#define REACH(h) ((h) & 3)
#define PEND(h)  (((h) >> 2) & 3)
#define HINC(h)  (((h) >> 4) & 7)
#ifdef BUG_NO_VERSION
#define NEXTV(h) ((h) & ~127)
#else
#define NEXTV(h) (((h) & ~127) + 128)
#endif
#define ANNOUNCE(h,s,i) (NEXTV(h) | ((i) << 4) | (((s)+1) << 2) | (REACH(h) > (s) -> REACH(h) : (s)+1))
#define SETTLED(h)      (NEXTV(h) | ((h) & 115))
#ifdef BUG_STALE_HELPER
#define ANNOUNCES(h,m) true
#else
#define ANNOUNCES(h,m) (HINC(h) == (INC(m) & 7))
#endif

/* A key is two words, so that a torn read can look like a third key: 1 = (0,0), 2 = (0,1), 3 = (1,1). */
#define KA(k) ((k) == 3)
#define KB(k) ((k) >= 2)

/* A word: the time at which the bucket is full again, and the origin of its axis, which is the incarnation's. */
#define WORD(i,t) (((i) << 4) | (t))
#define TIME(x)   ((x) & 15)
#define ORIG(x)   ((x) >> 4)
#ifdef BUG_SAME_ORIGIN
#define O(i) 0
#else
#define O(i) (i)
#endif
/* A take of one token, at time at, in the word x of limit w. */
#define FITS(x,w)  (MAX(TIME(x),at) + COST(w) - at <= CAP(w) * COST(w))
#define AFTER(x,w) WORD(O(i), MAX(TIME(x),at) + COST(w))
#define F(s,w) word[(s)*NW + (w)]

short meta[NS];
bit   keyA[NS], keyB[NS];
byte  word[NS*NW];
byte  seen[NS];
#if NW == 2
bit   busy[NS];         /* a gift is under way */
#endif
short hdr[NG];
byte  flr;              /* latest time at which a key was found full and evicted */
byte  clk;              /* real time */

/* Ghosts: never read by the protocol. */
byte  gkey[NS];         /* the key the claimer of a slot means to put there */
bit   gset[NS];         /* its insertion took place */
byte  gobs[NS*NW];      /* the greatest word that a decision already returned relies on */
byte  gpin[NS];         /* handles that hold the slot */
byte  cnt[(NK+1)*(TMAX+1)];     /* admissions, by key and time stamp */
hidden byte ga, gm, gw;

#define MAX(a,b) ((a) > (b) -> (a) : (b))
#define MIN(a,b) ((a) < (b) -> (a) : (b))
#define SUB(a,b) ((a) > (b) -> (a) - (b) : 0)
#define CNT(k,t) cnt[(k)*(TMAX+1)+(t)]

/* G1: in every span a..b at most CAP + (b-a) admissions of key k, for every limit. */
inline admit(k,t) {
	CNT(k,t)++;
	gw = 0;
	do
	:: gw >= NW -> break
	:: else ->
		gm = 0; ga = 0;
		do
		:: ga > TMAX -> break
		:: else ->
			if
			:: CNT(k,ga) > 0 -> gm = MAX(gm,ga) + CNT(k,ga) * COST(gw); assert(gm <= CAP(gw) * COST(gw) + ga)
			:: else
			fi;
			ga++
		od;
		gw++
	od;
	ga = 0; gm = 0; gw = 0
}

/* The insertion of slot s takes place: its key is nowhere else. */
inline check_announce(s) {
	assert(ST(meta[s]) == PRIVATE);
	ga = 0;
	do
	:: ga >= NS -> break
	:: else -> assert(ga == s || !gset[ga] || gkey[ga] != gkey[s]); ga++
	od;
	ga = 0; gset[s] = true
}
/* Slot s becomes visible: it was announced, and its key is wholly written. */
inline check_publish(s) {
	assert(gset[s] && keyA[s] == KA(gkey[s]) && keyB[s] == KB(gkey[s]))
}
/* The key of slot s goes, found full at t, or whatever it owes (forced). */
inline check_kill(s,t,forced) {
	assert(gset[s] && gpin[s] == 0);
	gw = 0;
	do
	:: gw >= NW -> break
	:: else -> assert(forced || gobs[s*NW+gw] <= t); gobs[s*NW+gw] = 0; gw++
	od;
	ga = 0;
	do
	:: ga > TMAX || !forced -> break
	:: else -> CNT(gkey[s],ga) = 0; ga++
	od;
	ga = 0; gw = 0; gkey[s] = 0; gset[s] = false
}

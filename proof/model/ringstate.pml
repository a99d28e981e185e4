/* State of a rolling limit of one slot, its packing, and the ghosts that judge it. */

#ifndef N
#define N 2             /* tokens in any span */
#endif
#ifndef SPAN
#define SPAN 2          /* ticks */
#endif
#ifndef G
#define G 0             /* 2^G tokens share an entry */
#endif
#ifndef R
#define R 4             /* entries, a power of two */
#endif
#ifndef TMAX
#define TMAX 4
#endif
#ifndef MAXGROUPS
#define MAXGROUPS 8     /* that one key may take */
#endif

#define MAX(a,b) ((a) > (b) -> (a) : (b))
#define MIN(a,b) ((a) < (b) -> (a) : (b))

/* meta: incarnation, pins, state. */
#define FREE    0
#define PRIVATE 1
#define LIVE    2
#define CLOSING 3
#define ST(m)      ((m) & 3)
#define INC(m)     ((m) >> 4)
#define PINS(m)    (((m) >> 2) & 3)
#define PIN        4
#define WITH(m,s)  (((m) & ~3) | (s))
#define EMPTIED(m) ((INC(m) + 1) << 4)
#define VISIBLE(m) (ST(m) >= LIVE)

/* The word: incarnation, which stands for its origin; tokens; time of the last take. */
#define W(i,n,t) (((i) << 8) | ((n) << 3) | (t))
#define T(w)     ((w) & 7)      /* of an entry too */
#define CNT(w)   (((w) >> 3) & 31)

/* The ring's base: owner, tokens, how far back the newest entry with voids is. */
#ifdef BUG_RING_NO_OWNER
#define B(i,s,v) (((s) << 3) | (v))
#define OWNED(b) true
#else
#define B(i,s,v) (((i) << 8) | ((s) << 3) | (v))
#define OWNED(b) (((b) >> 8) == i)
#endif
#define S(b)     (((b) >> 3) & 31)
#define VOIDS(b) ((b) & 7)
#define GROUP(s) ((s) >> G)
#define GROUPS(s) GROUP((s) + (1 << G) - 1)             /* with tokens, of s tokens */
#define FIRST(s) (GROUPS(s) - MIN(GROUPS(s), R))        /* that is in the ring */
#define AGE(b,m) (VOIDS(b) + GROUP(S(b) + (m)) - GROUP(S(b)))
#define AGED(b,m) ((VOIDS(b) == 0 || AGE(b,m) > R) -> 0 : AGE(b,m))     /* after m more tokens */

/* An entry: voids, time. */
#define E(t,v)   (((v) << 3) | (t))
#define V(e)     ((e) >> 3)
#define AT(x)    ((x) & (R - 1))
#define OVER(e)  (T(e) + SPAN <= at)
#define IN(e,x,s) (MIN((s) - ((x) << G), 1 << G) - V(e)) /* tokens of group x that count, of s tokens */

byte  meta;
short word;
short base;
byte  ring[R];
bit   busy;             /* gifts: one is under way */
byte  flr;              /* latest time at which the key was found to owe nothing and evicted */
byte  clk;

/* Ghosts: never read by the protocol. Those by time or group are of the present key. */
byte  cnt[TMAX+1];      /* tokens that passed and were not given back, by the time of the decision */
byte  dated[MAXGROUPS]; /* the date of each group, of which the word tells */
byte  marked[MAXGROUPS];/* tokens of each that a gift gave back, from the mark on */
byte  back[MAXGROUPS];  /* the same, from when the gift was done with them */
hidden byte gx, gs, gt;

#ifdef BOUND_ONLY
#define CLAIM(x) skip   /* on, until too much passes */
#else
#define CLAIM(x) assert(x)
#endif

/* A key comes in. */
inline forget() {
	gx = 0;
	do
	:: gx < MAXGROUPS -> dated[gx] = 0; marked[gx] = 0; back[gx] = 0; gx++
	:: gx >= MAXGROUPS -> break
	od;
	gx = 0;
	do
	:: gx <= TMAX -> cnt[gx] = 0; gx++
	:: gx > TMAX -> break
	od;
	gx = 0
}
/* After s tokens m more were taken, dated t: the word says so. */
inline swapped(s, m, t) {
	assert(GROUPS((s) + (m)) <= MAXGROUPS);
	gx = GROUP(s);
	do
	:: gx < GROUPS((s) + (m)) -> CLAIM(dated[gx] <= (t)); dated[gx] = t; gx++
	:: gx >= GROUPS((s) + (m)) -> break
	od;
	gx = 0
}
/* m tokens passed, decided at t: in no span are there more than N. */
inline passed(t, m) {
	cnt[t] = cnt[t] + (m);
	gx = 0; gs = 0;
	do
	:: gx > TMAX -> break
	:: gx <= TMAX ->
		gs = gs + cnt[gx];
		if
		:: gx >= SPAN -> gs = gs - cnt[gx - SPAN]
		:: gx < SPAN
		fi;
		assert(gs <= N);
		gx++
	od;
	gx = 0; gs = 0
}
/* due: m more after s tokens may be denied at t, because with those that count they are more than N, or because a group
 * that is not over would be pushed out of the ring. A gift under way need not count yet. */
inline look(s, t, m) {
	gx = FIRST(s); gs = 0;
	do
	:: gx >= GROUPS(s) -> break
	:: gx < GROUPS(s) ->
		if
		:: dated[gx] + SPAN > t -> gs = gs + MIN((s) - (gx << G), 1 << G) - back[gx]
		:: else
		fi;
		gx++
	od;
	gx = GROUP((s) + (m) - 1);
	due = (due || gs + (m) > N || gx >= R && dated[gx - R] + SPAN > t);
	gx = 0; gs = 0
}
/* A look found v in the entry of group y. It is that group's date, and given back was what a gift gave back. */
inline reads(y, v) {
	if
	:: INC(meta) == i && VISIBLE(meta) && (T(v) != dated[y] || V(v) > marked[y]) -> bad = true
	:: else
	fi
}
/* The entry v of group y becomes z. From one round of the ring to the next, times never go back. */
inline writes(y, v, z) {
	if
	:: INC(meta) == i && VISIBLE(meta) && y >= R -> CLAIM(T(z) >= T(v))
	:: else
	fi
}
/* m tokens of group y are marked as given back in an entry v: it is that group's. */
inline marks(y, v, m) {
	if
	:: INC(meta) == i && VISIBLE(meta) -> CLAIM(at <= T(v) && T(v) <= dated[y]); marked[y] = marked[y] + (m)
	:: else
	fi
}
/* A key that is evicted owes nothing at t. */
inline owes(t) {
	gx = 0;
	do
	:: gx <= TMAX -> assert(cnt[gx] == 0 || gx + SPAN <= (t)); gx++
	:: gx > TMAX -> break
	od;
	gx = 0
}

/* evict.go drop, or forget: whatever it owes. */
proctype Evictor(byte tries; bit force) {
	byte at, m;
again:
end:
	atomic { VISIBLE(meta) && PINS(meta) == 0 -> at = clk; m = meta };
	if
	:: atomic { force ->
		if
#ifdef BUG_RING_SAME_TIME
		:: meta == m -> meta = EMPTIED(m)
#else
		/* The floor is no step of the evictor's: it says that the next key has a later time. */
		:: meta == m && T(word) < clk -> meta = EMPTIED(m); flr = MAX(flr, T(word) + 1)
#endif
		:: else
		fi;
		goto done }
	:: atomic { !force && meta == m && OVER(word) -> meta = WITH(m, CLOSING); m = meta }
	:: atomic { !force && !(meta == m && OVER(word)) -> goto done }
	fi;
	if
	:: OVER(word)
	:: atomic { !OVER(word) ->
		if
		:: meta == m -> meta = WITH(m, LIVE)
		:: else
		fi;
		goto done }
	fi;
	flr = MAX(flr, at);
	atomic {
		if
		:: meta == m -> d_step { owes(at) }; meta = EMPTIED(m)
		:: else
		fi
	};
done:
	atomic {
		at = 0; m = 0; tries--;
		if
		:: tries > 0 -> goto again
		:: else
		fi
	}
}

proctype Clock() {
	do
	:: clk < TMAX -> clk++
	:: clk >= TMAX -> break
	od
}

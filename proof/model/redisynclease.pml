/* A budget on leases: nodes spend only what Redis granted them, for a time (redisync, lease mode). A node counts TERM from when
 * it sent the call, Redis HOLD from when it runs it; a node's clock may be off by DRIFT in that time. All counts are sums, so a
 * call may be lost, run late or twice, or its reply be lost: the node gives it up and sends a newer one. A node may drop what it
 * has and begin a new epoch, or crash and come back under another name. Redis may lose its data, or fall back to what a replica
 * had.
 *
 * Bound: in every window no more is spent than C + refill, and, after Redis fell back, what it forgot (J): the
 * grants since, and the leases that were renewed since and that it takes for ended too early. W is an exact
 * bucket that is full when the window opens.
 * Books: what Redis counts as held is the sum of what its names hold. */
#ifndef N
#define N 2
#endif
#ifndef C
#define C 2
#endif
#ifndef TERM
#define TERM 1
#endif
#ifndef DRIFT
#define DRIFT 0
#endif
#ifdef BUG_NO_MARGIN
#define HOLD TERM
#else
#define HOLD (TERM+DRIFT)
#endif
#ifndef WANT
#define WANT C
#endif
#ifndef TMAX
#define TMAX 3          /* ticks; one token comes back in each */
#endif
#ifndef CALLS
#define CALLS 5
#endif
#ifndef LOST
#define LOST 1          /* of those, given up */
#endif
#ifndef TWICE
#define TWICE 0
#endif
#ifndef CRASH
#define CRASH 0
#endif
#ifndef DROP
#define DROP 1          /* leases dropped, and epochs begun */
#endif
#ifndef BACK
#define BACK 0          /* tokens given back */
#endif
#ifndef LOSS
#define LOSS 0          /* Redis loses everything */
#endif
#ifndef FALL
#define FALL 0
#endif
#define NF (N+CRASH)
#define MAX(a,b) ((a) > (b) -> (a) : (b))
#define MIN(a,b) ((a) < (b) -> (a) : (b))

/* A node need not look whether its lease has run out before it tells of it, since Redis knows. DROPS: it does. */
#ifdef DROPS
#define MAYSEND(n) && (left[n] == 0 || clk < from[n] + TERM + DRIFT)
#else
#define MAYSEND(n)
#endif

mtype = { none, sent, replied }
typedef Call { byte name, epoch, seen, gone, back, want }

/* nodes; granted in all that it saw: seen; no longer held: seen - left */
byte  left[N];
byte  seen[N];
byte  back[N];          /* given back, of what is gone */
byte  from[N];          /* when the call was sent that the lease counts from */
byte  epoch[N] = 1;
byte  name[N];
mtype st[N] = none;
Call  call[N];
byte  at[N];            /* when it was sent */
byte  rG[N], rD[N];     /* the reply: granted and gone */

mtype late = none;      /* a call that was given up, or a copy, and may still run */
Call  old;

/* Redis: level, its time, and what is held; for each name epoch (0: none), granted, gone, given back, end */
short l = C;
byte  t;
short held;
byte  e[NF], g[NF], d[NF], r[NF], stop[NF];
bit   there = true;
bit   marked = true;
byte  since;            /* of the mark */
/* and what its replica has */
bit   kept;
short kl, kheld;
byte  kt, ke[NF], kg[NF], kd[NF], kr[NF], kstop[NF];

byte clk;
bit  open;
short W = C;
byte J;
byte calls = CALLS, lost = LOST, twice = TWICE, crash = CRASH, drop = DROP, give = BACK, loss = LOSS, fall = FALL;
hidden byte i, s, grant, less, G, D; hidden short room; hidden byte known, stale;

/* Refill up to a time, as if what is held was full. */
inline advance(to) {
	if
	:: to > t -> room = C - held - l; l = l + MAX(0, MIN(to - t, room)); t = to
	:: else
	fi
}

/* Leases that have ended are written off, each at its end. */
inline sweep() {
	s = 0;
	do
	:: s <= clk ->
		i = 0;
		do
		:: i < NF ->
			if
			:: e[i] > 0 && stop[i] == s && d[i] < g[i] ->
#ifndef BUG_SWEEP_FIRST
				advance(s);
#endif
				held = held - (g[i] - d[i]); d[i] = g[i]
			:: else
			fi;
			i++
		:: else -> break
		od;
		s++
	:: else -> break
	od;
	s = 0; i = 0
}

inline books() {
	room = 0; i = 0;
	do
	:: i < NF -> room = room + g[i] - d[i]; i++
	:: else -> break
	od;
	i = 0;
	assert(held == room);
	room = 0
}

/* The script, on the call c: sync.lua, lease. It grants all it can. */
inline script(c) {
	stale = false;
	if
	:: !there ->
		there = true; held = 0;
		if
		:: !marked || (c.seen > c.gone && clk >= since + HOLD) -> since = clk; marked = true
		:: else
		fi;
#if defined(BUG_NO_LEARN)
		l = C; t = clk;
#elif defined(BUG_NO_WAIT)
		l = 0; t = since;
#else
		l = 0; t = since + HOLD;
#endif
	:: else -> sweep()
	fi;
#ifdef BUG_NEWS_FIRST
	if
	:: e[c.name] == c.epoch -> held = held - MAX(0, MIN(c.gone, g[c.name]) - d[c.name]); d[c.name] = MAX(d[c.name], MIN(c.gone, g[c.name]))
	:: else
	fi;
#endif
	advance(clk);
	known = false; G = c.seen; D = c.gone; grant = 0;
	if
#ifndef BUG_NO_STALE
	:: e[c.name] > c.epoch -> stale = true
#endif
	:: e[c.name] == c.epoch -> known = true; G = g[c.name]; D = d[c.name]
	:: else -> held = held - (g[c.name] - d[c.name])        /* given up with its record */
	fi;
	if
	:: stale
	:: else ->
		if
		:: !known ->
			r[c.name] = c.back;
#ifdef BUG_REVIVE
			held = held + c.seen - c.gone; l = l - (t <= clk -> c.seen - c.gone : 0)
#else
			D = c.seen                              /* it may be written off, and granted to others */
#endif
		:: else ->
			if
#ifdef BUG_REVIVE
			:: c.seen > G -> l = l - (c.seen - G); held = held + c.seen - G; G = c.seen
#else
			:: c.seen > G -> l = l - (c.seen - G); held = held - (G - D); G = c.seen; D = G
#endif
			:: else
			fi;
			less = MAX(0, MIN(c.gone, G) - D);
			held = held - less; D = D + less;
			if
#ifdef BUG_RETURN_ALL
			:: c.back > r[c.name] -> l = l + c.back - r[c.name]; r[c.name] = c.back
#else
			:: c.back > r[c.name] -> l = l + MIN(c.back - r[c.name], less); r[c.name] = c.back
#endif
			:: else
			fi
		fi;
		if
		:: l >= 1 && c.seen == G -> grant = MIN(c.want, l); l = l - grant; held = held + grant; G = G + grant
		:: else
		fi;
		e[c.name] = c.epoch; g[c.name] = G; d[c.name] = D; stop[c.name] = clk + HOLD
	fi;
	books();
	less = 0; grant = 0
}

inline giveUp(n, call_) {
	late = sent; old.name = call_.name; old.epoch = call_.epoch; old.seen = call_.seen; old.gone = call_.gone;
	old.back = call_.back; old.want = call_.want
}

inline send(n, w) {
	calls--; st[n] = sent; at[n] = clk; call[n].name = name[n]; call[n].epoch = epoch[n]; call[n].seen = seen[n];
	call[n].gone = seen[n] - left[n]; call[n].back = back[n]; call[n].want = w
}

inline begin(n) { left[n] = 0; seen[n] = 0; back[n] = 0; from[n] = 0; at[n] = 0; rG[n] = 0; rD[n] = 0; st[n] = none }

proctype Node(byte n) {
end:	do
#ifdef BUG_WAKE
	:: d_step { left[n] > 0 ->
#else
	:: d_step { left[n] > 0 && clk < from[n] + TERM + DRIFT ->      /* spend, by a clock that is slow */
#endif
		left[n]--;
		if
		:: open -> W--; assert(W >= -J)                         /* bound */
		:: else
		fi
	   }
	:: d_step { calls > 0 && st[n] == none && left[n] < WANT MAYSEND(n) -> send(n, WANT) }
	:: d_step { calls > 0 && st[n] == none && (left[n] > 0 || back[n] > 0) MAYSEND(n) -> send(n, 0) }
#ifdef BUG_BACK
	:: d_step { left[n] > 0 && give > 0 ->
#else
	:: d_step { left[n] > 0 && give > 0 && st[n] == none ->         /* taken back, and told by the next call */
#endif
		give--; left[n]--; back[n]++
	   }
	:: d_step { st[n] == sent ->                                    /* it runs */
		script(call[n]);
		assert(!stale);
		st[n] = replied; rG[n] = G; rD[n] = D
	   }
	:: d_step { (st[n] == sent || st[n] == replied) && lost > 0 ->  /* given up: it, or its reply, is lost */
		lost--; st[n] = none; rG[n] = 0; rD[n] = 0
	   }
	:: d_step { st[n] == sent && lost > 0 && late == none -> lost--; st[n] = none; giveUp(n, call[n]) }
	:: d_step { st[n] == sent && twice > 0 && late == none -> twice--; giveUp(n, call[n]) }
	:: d_step { st[n] == replied ->
		if
#ifndef BUG_KEEP_LEFT
		:: rD[n] > call[n].gone -> left[n] = rG[n] - rD[n]      /* what it held was written off */
#endif
		:: else -> left[n] = left[n] + rG[n] - seen[n]
		fi;
		seen[n] = rG[n];
#ifdef BUG_FROM_REPLY
		from[n] = clk;
#else
		from[n] = at[n];
#endif
		st[n] = none; rG[n] = 0; rD[n] = 0; at[n] = 0
	   }
	:: d_step { drop > 0 && clk + DRIFT >= from[n] + TERM && seen[n] > 0 -> /* the lease ran out, by a clock that is fast */
		if
		:: st[n] == sent && late == none -> giveUp(n, call[n])
		:: else
		fi;
		drop--; begin(n); epoch[n]++
	   }
#if CRASH > 0
	:: d_step { crash > 0 ->
		if
		:: st[n] == sent && late == none -> giveUp(n, call[n])
		:: else
		fi;
		crash--; begin(n); epoch[n] = 1; name[n] = N + crash
	   }
#endif
	od
}

proctype Others() {
end:	do
	:: d_step { late == sent -> script(old); late = none }
	:: d_step { late == sent -> late = none }
	:: d_step { !open -> open = true }
	:: d_step { clk < TMAX -> clk++; W = MIN(C, W + 1) }
#if LOSS > 0
	:: d_step { loss > 0 -> loss--; there = false; marked = false; since = 0; l = 0; t = 0; held = 0; i = 0;
		do
		:: i < NF -> e[i] = 0; g[i] = 0; d[i] = 0; r[i] = 0; stop[i] = 0; i++
		:: else -> break
		od;
		i = 0
	   }
	:: d_step { !marked -> marked = true; since = clk }             /* by another key of the bucket */
#endif
#if FALL > 0
	:: d_step { !kept && fall > 0 -> kept = true; kl = l; kt = t; kheld = held; i = 0;
		do
		:: i < NF -> ke[i] = e[i]; kg[i] = g[i]; kd[i] = d[i]; kr[i] = r[i]; kstop[i] = stop[i]; i++
		:: else -> break
		od;
		i = 0
	   }
	:: d_step { kept -> kept = false; fall--; l = kl; t = kt; held = kheld; kl = 0; kt = 0; kheld = 0; i = 0;
		do
		:: i < NF ->
			J = J + (ke[i] == e[i] -> g[i] - kg[i] : g[i]) + (kstop[i] != stop[i] -> kg[i] - kd[i] : 0);
			e[i] = ke[i]; g[i] = kg[i]; d[i] = kd[i]; r[i] = kr[i]; stop[i] = kstop[i];
			ke[i] = 0; kg[i] = 0; kd[i] = 0; kr[i] = 0; kstop[i] = 0; i++
		:: else -> break
		od;
		i = 0
	   }
#endif
	od
}

init {
	atomic {
		i = 0;
		do
		:: i < N -> name[i] = i; run Node(i); i++
		:: else -> break
		od;
		i = 0;
		run Others()
	}
}

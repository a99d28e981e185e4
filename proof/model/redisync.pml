/* A budget on credit: nodes that admit by their own view of it and tell Redis all that they ever used (redisync). The gate's
 * side of a key is L, its level, and u, what is not settled, at most B; the record's is settled, epoch and the call in flight.
 * A call may be lost, run late or twice, or its reply be lost: the node gives it up and sends a newer one. A node may crash
 * and come back under another name. Redis may fall back to what a replica had, or lose the key.
 *
 * Bound: in every window no more is admitted than C + refill + (M-1)*B + J. M is the number of names under which something was
 * admitted in it; J is by how much Redis' level was raised by other than refill. W is an exact bucket that is full when the
 * window opens, so that W >= -((M-1)*B + J) says so for every end of the window.
 * Conserved: nothing is charged twice, and what an answered call told is charged, also after Redis fell back. */
#ifndef N
#define N 2             /* nodes */
#endif
#ifndef C
#define C 2             /* capacity */
#endif
#ifndef B
#define B 1             /* credit, at most C */
#endif
#ifndef TMAX
#define TMAX 1          /* ticks; one token comes back in each */
#endif
#ifndef LOST
#define LOST 1          /* calls given up */
#endif
#ifndef TWICE
#define TWICE 0         /* calls that run twice */
#endif
#ifndef CRASH
#define CRASH 0
#endif
#ifndef FORGET
#define FORGET 0        /* records forgotten and begun anew */
#endif
#ifndef FALL
#define FALL 0          /* Redis falls back to a replica that lags */
#endif
#ifndef LOSS
#define LOSS 0          /* Redis loses the key */
#endif
#ifndef REFUNDS
#define REFUNDS 0
#endif
#ifndef STRICT
#define STRICT 0        /* takes decided by Redis itself, which then is one more name in a window */
#endif
#define NF (N+CRASH)    /* names */
#define MAX(a,b) ((a) > (b) -> (a) : (b))
#define MIN(a,b) ((a) < (b) -> (a) : (b))

mtype = { none, sent, replied, half }      /* of a call; half: the level is set, the credit not free yet */
typedef Call { byte name, epoch, total, base, used; short est }

/* nodes */
short L[N] = C;         /* level */
byte  u[N];             /* used and not settled */
byte  settled[N];
byte  epoch[N] = 1;
byte  name[N];
byte  opened[N];        /* of u, what the call in flight told */
bit   told[N];          /* a call's fate is unknown: nothing may be given back */
byte  fresh[N];         /* ghost: tokens that may be given back: taken in this tick and window */
mtype st[N] = none;
Call  call[N];
short G[N];             /* the reply: level */
byte  T[N];             /* and total */
byte  at[N];            /* when it was sent; for a bug */

/* one call that was given up, or a copy, and may still run */
mtype late = none;
Call  old;
short oldG;             /* for a bug: its reply */
byte  oldNode;

/* Redis, and what its replica has */
short l = C;
bit   there = true;
byte  fe[NF], ft[NF];   /* a name's epoch, 0: none; and total */
byte  chg[NF], ec[NF];  /* ghost: tokens charged to a name, and those of the epoch */
bit   kept;             /* the replica has the following */
short kl;
byte  ke[NF], kt[NF], kc[NF], kx[NF];

byte clk;
byte used[NF], eu[NF];  /* ghost: tokens admitted and not given back, and those of the epoch */
bit  vague[NF];         /* ghost: Redis lost the name's field: what it charges cannot be told */
bit  open;
short W = C;
byte J;
byte by;                /* names that admitted in the window, a bit each */
byte lost = LOST, twice = TWICE, crash = CRASH, forget = FORGET, fall = FALL, loss = LOSS, strict = STRICT;
hidden short g; hidden byte known, i, status;

#define ONES(m) (((m)&1) + ((m)>>1&1) + ((m)>>2&1) + ((m)>>3&1) + ((m)>>4&1))

inline admitted(nm) {
	if
	:: open -> W--; by = by | 1<<nm;
#ifdef BUG_REACHED
		assert(J > 0 || ONES(by) < N || W > -(ONES(by)-1)*B)
#else
		assert(W >= -((ONES(by)-1)*B + J))              /* bound */
#endif
	:: else
	fi
}

/* The script, on the call c: sync.lua, credit. */
inline script(c) {
	status = 0; known = c.base; g = false;
	if
	:: !there ->
		J = J + (open -> MAX(0, MIN(C, c.est) - l) : 0);
		l = MIN(C, c.est); there = true; g = true
	:: else
	fi;
	if
	:: fe[c.name] == 0 && c.base > 0 && !g -> l = MIN(l, c.est)
	:: fe[c.name] == c.epoch -> known = ft[c.name]
#ifndef BUG_NO_STALE
	:: fe[c.name] > c.epoch -> status = 2
#endif
#ifdef BUG_OLD_EPOCH
	:: else
#else
	:: fe[c.name] != 0 && fe[c.name] < c.epoch -> known = 0
	:: else
#endif
	fi;
#ifdef BUG_BASE
	known = c.base;
#endif
#ifdef BUG_DELTA
	known = 0; vague[c.name] = false;
#endif
	if
	:: status == 0 ->
		ec[c.name] = (fe[c.name] == c.epoch -> ec[c.name] : 0);
		vague[c.name] = vague[c.name] | (fe[c.name] == 0 && c.base > 0);
		if
		:: c.total > known -> l = l - (c.total - known); chg[c.name] = chg[c.name] + c.total - known;
			ec[c.name] = ec[c.name] + c.total - known; known = c.total
		:: else
		fi;
		fe[c.name] = c.epoch; ft[c.name] = known;
#ifndef BOUND_ONLY
		assert(chg[c.name] <= used[c.name]);            /* nothing charged twice */
#endif
		skip
	:: else
	fi;
	g = l
}

proctype Node(byte n) {
end:	do
	:: d_step { L[n] >= 1 && u[n] < B ->                    /* admit */
		L[n] = L[n] - 1; u[n]++; used[name[n]]++; eu[name[n]]++; fresh[n] = fresh[n] + (REFUNDS && open);
		admitted(name[n])
	   }
#if REFUNDS > 0
#ifdef BUG_REFUND_TOLD
	:: d_step { fresh[n] > 0 && u[n] > 0 ->
#else
	:: d_step { fresh[n] > 0 && u[n] > 0 && !told[n] ->
#endif
		L[n] = MIN(C, L[n] + 1); u[n]--; used[name[n]]--; eu[name[n]]--; fresh[n]--; W = MIN(C, W + 1)
	   }
#endif
	:: d_step { st[n] == none && u[n] > 0 ->                /* send */
		st[n] = sent; opened[n] = u[n]; told[n] = true; at[n] = clk;
#ifndef BUG_REFUND_TOLD
		fresh[n] = 0;
#endif
#ifdef BUG_DELTA
		call[n].total = u[n];
#else
		call[n].total = settled[n] + u[n];
#endif
		call[n].name = name[n]; call[n].epoch = epoch[n]; call[n].base = settled[n];
		call[n].est = MIN(C, L[n] + u[n]); call[n].used = eu[name[n]]
	   }
	:: d_step { st[n] == sent ->                            /* it runs */
		script(call[n]);
#ifndef BOUND_ONLY
		assert(vague[name[n]] || ec[name[n]] >= call[n].used);  /* what it told is charged */
#endif
		st[n] = replied; G[n] = g; T[n] = known;
		if
		:: status == 2 -> assert(false)                 /* the node's newest record is never stale */
		:: else
		fi
	   }
	:: d_step { (st[n] == sent || st[n] == replied) && lost > 0 ->  /* given up: it, or its reply, is lost */
		lost--; st[n] = none;
#ifdef BUG_CLEAR
		u[n] = u[n] - opened[n];
#endif
		opened[n] = 0
	   }
	:: d_step { st[n] == sent && lost > 0 && late == none ->        /* given up: it runs later */
		lost--; st[n] = none; opened[n] = 0; late = sent; oldNode = n;
		old.name = call[n].name; old.epoch = call[n].epoch; old.total = call[n].total; old.base = call[n].base; old.est = call[n].est
	   }
	:: d_step { st[n] == sent && twice > 0 && late == none ->       /* a copy runs later */
		twice--; late = sent; oldNode = n;
		old.name = call[n].name; old.epoch = call[n].epoch; old.total = call[n].total; old.base = call[n].base; old.est = call[n].est
	   }
#ifdef BUG_LATE_REPLY
	:: d_step { late == replied && oldNode == n && (st[n] == sent || st[n] == replied) ->   /* taken for the newer call's */
		late = none; st[n] = replied; G[n] = oldG; T[n] = call[n].total
	   }
#endif
#ifdef BUG_CREDIT_FIRST
	:: d_step { st[n] == replied -> u[n] = u[n] - opened[n]; opened[n] = 0; settled[n] = T[n]; st[n] = half }
	:: d_step { st[n] == half -> L[n] = MIN(C, G[n] - u[n]); told[n] = false; st[n] = none; G[n] = 0; T[n] = 0; at[n] = 0 }
#else
	:: d_step { st[n] == replied ->                         /* Settle: the level */
#if defined(BUG_OVERWRITE)
		L[n] = G[n];
#elif defined(BUG_FLIGHT)
		L[n] = MIN(C, G[n] + clk - at[n] - (u[n] - opened[n]));
#else
		L[n] = MIN(C, G[n] - (u[n] - opened[n]));
#endif
		G[n] = 0; st[n] = half
	   }
	:: d_step { st[n] == half ->                            /* and then the credit */
		u[n] = MAX(0, u[n] - opened[n]); settled[n] = T[n];
		told[n] = false; opened[n] = 0; T[n] = 0; at[n] = 0; st[n] = none
	   }
#endif
#ifdef BUG_FORGET_EARLY
	:: d_step { forget > 0 && st[n] == none && !told[n] && L[n] == C ->
#else
	:: d_step { forget > 0 && st[n] == none && !told[n] && L[n] == C && u[n] == 0 ->        /* full and settled: forget */
#endif
		forget--; settled[n] = 0; u[n] = 0; fresh[n] = 0; eu[name[n]] = 0;
#ifndef BUG_SAME_EPOCH
		epoch[n]++
#endif
	   }
#if CRASH > 0
	:: d_step { crash > 0 ->                                /* and comes back under another name */
		if
		:: st[n] == sent && late == none ->
			late = sent; oldNode = N;
			old.name = call[n].name; old.epoch = call[n].epoch; old.total = call[n].total; old.base = call[n].base; old.est = call[n].est
		:: else
		fi;
		crash--; st[n] = none; L[n] = C; u[n] = 0; settled[n] = 0; epoch[n] = 1; opened[n] = 0; told[n] = false;
		fresh[n] = 0; G[n] = 0; T[n] = 0; at[n] = 0;
#ifndef BUG_SAME_NAME
		name[n] = N + crash
#endif
	   }
#endif
	od
}

proctype Others() {
end:	do
	:: d_step { late == sent -> script(old); late = none;
#ifdef BUG_LATE_REPLY
		if
		:: oldNode < N -> late = replied; oldG = g
		:: else
		fi
#endif
	   }
	:: d_step { late != none -> late = none }
	:: d_step { strict > 0 && there && l >= 1 -> strict--; l--; admitted(NF) }
	:: d_step { !open -> open = true;
		i = 0;
		do
		:: i < N -> fresh[i] = 0; i++
		:: else -> break
		od;
		i = 0
	   }
	:: d_step { clk < TMAX ->
		clk++; W = MIN(C, W + 1); l = MIN(C, l + 1); kl = MIN(C, kl + kept); i = 0;
		do
		:: i < N -> L[i] = MIN(C, L[i] + 1); fresh[i] = 0; i++
		:: else -> break
		od;
		i = 0
	   }
#if FALL > 0
	:: d_step { !kept && fall > 0 -> kept = true; kl = l; i = 0;
		do
		:: i < NF -> ke[i] = fe[i]; kt[i] = ft[i]; kc[i] = chg[i]; kx[i] = ec[i]; i++
		:: else -> break
		od;
		i = 0
	   }
	:: d_step { kept -> J = J + (open -> MAX(0, kl - l) : 0); l = kl; kl = 0; kept = false; fall--; i = 0;
		do
		:: i < NF -> fe[i] = ke[i]; ft[i] = kt[i]; chg[i] = kc[i]; ec[i] = kx[i]; ke[i] = 0; kt[i] = 0; kc[i] = 0; kx[i] = 0; i++
		:: else -> break
		od;
		i = 0
	   }
#endif
#if LOSS > 0
	:: d_step { loss > 0 -> loss--; there = false; i = 0;
		do
		:: i < NF -> fe[i] = 0; ft[i] = 0; chg[i] = 0; ec[i] = 0; vague[i] = true; i++
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

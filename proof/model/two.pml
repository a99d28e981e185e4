	/* takeall.go: look at both words, charge in order, give the first back when the second is gone. */
take:
	f = F(s,0);
	f0 = F(s,1);
	if
	:: INC(meta[s]) != i -> goto moved
	:: else
	fi;
	atomic {
		if
		:: !FITS(f,0) -> w = 0; f = TIME(f); f0 = 0; goto deny
		:: FITS(f,0) && !FITS(f0,1) -> w = 1; f = TIME(f0); f0 = 0; goto deny
		:: else
		fi
	};
charge0:
	atomic {
		if
		:: F(s,0) == f -> f = AFTER(f,0); F(s,0) = f; goto charge1
		:: else
		fi;
		f = F(s,0)
	};
	atomic {
		if
		:: INC(meta[s]) == i && FITS(f,0) -> goto charge0
		:: else -> f = 0; f0 = 0; goto take
		fi
	};
charge1:
	atomic {
		if
		:: F(s,1) == f0 ->
			f0 = AFTER(f0,1); F(s,1) = f0;
			assert(INC(meta[s]) == i || !VISIBLE(meta[s]));
			f = TIME(f); f0 = TIME(f0); goto confirm
		:: else
		fi;
		f0 = F(s,1)
	};
	atomic {
		if
		:: INC(meta[s]) == i && FITS(f0,1) -> goto charge1
		:: else
		fi
	};
	/* uncharge: one gift at a time; who finds another under way gives nothing back */
	atomic {
		if
		:: !busy[s] -> busy[s] = true
		:: else -> goto retry
		fi
	};
lower:
	f0 = F(s,0);
	/* newest: seen and then the clock, both after the word. What time has not refilled since the charge is given. */
	raw = seen[s];
	atomic {
		raw = MAX(MIN(MAX(raw, clk), raw + GRAIN), at);
		f = MIN(SUB(COST(0), SUB(raw, at)), SUB(TIME(f0), raw));
		raw = 0
	};
#ifdef BUG_AFTER_REUSE
	if
	:: f == 0 -> busy[s] = false; goto retry
	:: else
	fi;
#else
	if
	:: f == 0 || INC(meta[s]) != i -> busy[s] = false; goto retry
	:: else
	fi;
#endif
	atomic {
		if
		:: F(s,0) == f0 -> F(s,0) = f0 - f; assert(INC(meta[s]) == i || !VISIBLE(meta[s]))
		:: else -> goto lower
		fi
	};
	busy[s] = false;                                /* end; the sum of all gifts is refund.pml's matter */
retry:
	atomic { f = 0; f0 = 0; goto take };
confirm:
	atomic {                                        /* reload meta */
		m = meta[s];
		if
		:: INC(m) != i -> goto moved
		:: INC(m) == i && ST(m) == LIVE -> took()
		:: else
		fi
	};
	atomic {                                        /* reopen */
		if
		:: meta[s] == m -> meta[s] = WITH(m, LIVE); took()
		:: else -> m = 0; goto confirm
		fi
	};
deny:
	atomic {                                        /* reload meta */
		m = meta[s];
		if
		:: INC(m) != i -> goto moved
		:: INC(m) == i && ST(m) == LIVE -> denied()
		:: else
		fi
	};
	atomic {
		if
		:: meta[s] == m -> meta[s] = WITH(m, LIVE); denied()
		:: else -> m = 0; goto deny
		fi
	};

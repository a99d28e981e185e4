/* evict.go drop: close a slot that looks full, look again, kill or reopen. force drops whatever is owed. */
inline owes() {
	at = seen[s];
	at = MAX(now, at);
	isfull = (TIME(F(s,0)) <= at);
#if NW == 2 && !defined(BUG_FIRST_WORD)
	if
	:: isfull -> isfull = (TIME(F(s,1)) <= at)
	:: else
	fi
#endif
}

proctype Evictor(byte tries; bit force) {
	byte s, now, at;
	short m;
	bit isfull;
call:
	atomic {
		(tries > 0) -> tries--; now = clk;
		if
		:: s = 0
		:: s = NS-1
		fi;
		m = meta[s];                            /* a candidate: visible, not pinned */
		if
#ifdef BUG_PIN_IGNORED
		:: VISIBLE(m)
#else
		:: VISIBLE(m) && PINS(m) == 0
#endif
		:: else -> goto done
		fi
	};
	owes();
	if
	:: isfull && !force
	:: force ->
		atomic {
			if
			:: meta[s] == m -> check_kill(s, at, true); meta[s] = EMPTIED(m)
			:: else
			fi;
			goto done
		}
	:: else -> goto done
	fi;
#ifndef BUG_KILL_WITHOUT_CLOSING
	atomic {                                        /* CAS -> CLOSING, next round; takes over another's */
		if
		:: meta[s] == m -> m = CLOSED(m); meta[s] = m
		:: else -> goto done
		fi
	};
	owes();                                         /* look again */
	if
	:: isfull
	:: else ->
		d_step {                                /* CAS reopen */
			if
			:: meta[s] == m -> meta[s] = WITH(m, LIVE)
			:: else
			fi
		};
		goto done
	fi;
#endif
	d_step { flr = MAX(flr, at) };
	atomic {                                        /* CAS kill */
		if
		:: meta[s] == m -> check_kill(s, at, false); meta[s] = EMPTIED(m)
		:: else
		fi
	};
done:	skip;
	d_step { s = 0; now = 0; at = 0; m = 0; isfull = false };
	if
	:: tries > 0 -> goto call
	:: else
	fi
}

proctype Clock() {
	do
	:: clk < TMAX -> clk++
	:: clk >= TMAX -> break
	od
}

#include "state.pml"
#include "taker.pml"
#include "evictor.pml"

#ifndef K1
#define K1 2
#endif
#ifndef K2
#define K2 2
#endif
#ifndef OPS1
#define OPS1 1
#endif
#ifndef OPS2
#define OPS2 1
#endif
#ifndef PIN2
#define PIN2 0
#endif
#ifndef TRIES
#define TRIES 1
#endif
#ifndef FORCE
#define FORCE 0
#endif

init {
	atomic {
		run Clock();
		run Taker(K1, OPS1, 0);
		run Taker(K2, OPS2, PIN2);
#ifdef K3
		run Taker(K3, 1, 0);
#endif
#if TRIES > 0
		run Evictor(TRIES, FORCE);
#endif
#ifdef TRIES2
		run Evictor(TRIES2, 0)
#endif
	}
}

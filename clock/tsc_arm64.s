//go:build gc && !purego

#include "textflag.h"

// ISB holds the reading back until every earlier instruction is done: without it the counter may be read before
// what the caller had to know.

// func ticks() uint64
TEXT ·ticks(SB), NOSPLIT, $0-8
	ISB  $15
	MRS  CNTVCT_EL0, R0
	MOVD R0, ret+0(FP)
	RET

// func ticksUnordered() uint64
TEXT ·ticksUnordered(SB), NOSPLIT, $0-8
	MRS  CNTVCT_EL0, R0
	MOVD R0, ret+0(FP)
	RET

// func counterFrequency() uint64
TEXT ·counterFrequency(SB), NOSPLIT, $0-8
	MRS  CNTFRQ_EL0, R0
	MOVD R0, ret+0(FP)
	RET

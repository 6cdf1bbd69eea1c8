#include "textflag.h"

// func clone3(args, size uintptr) (pid, errno uintptr)
//
// The return address stays in the link register, which the kernel keeps.
TEXT ·clone3(SB),NOSPLIT|NOFRAME,$0-32
	MOVD	args+0(FP), R0
	MOVD	size+8(FP), R1
	MOVD	$435, R8
	SVC
	CMN	$4095, R0
	BCC	ok
	MOVD	$-1, R4
	MOVD	R4, pid+16(FP)
	NEG	R0, R0
	MOVD	R0, errno+24(FP)
	RET
ok:
	MOVD	R0, pid+16(FP)
	MOVD	ZR, errno+24(FP)
	RET

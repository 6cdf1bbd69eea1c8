package child

import "syscall"

const sigXCPU = syscall.Signal(0x18) // Windows has no such signal

const canReadNow = false

func readNow(uintptr, []byte) (int, error) { return 0, syscall.EWINDOWS }

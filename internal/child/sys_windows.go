package child

import "syscall"

const sigXCPU = syscall.Signal(0x18) // there is none

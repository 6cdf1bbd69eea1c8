package proc

import (
	"os"
	"strconv"
)

// The variables that name a process's owner, and the owner's child it belongs to.
const (
	EnvOwner = "BEZOAR_CHILD"      // in jobs
	EnvLife  = "BEZOAR_LIFE"       // in servers
	EnvMark  = "BEZOAR_CHILD_MARK" // in jobs: whose they are across lives
)

// Owner identifies one process among all that have run since the machine started.
type Owner struct {
	PID  int
	Born uint64 // in the kernel's ticks; 0 if unknown
}

func Self() Owner {
	o := Owner{PID: os.Getpid()}
	o.Born, _ = Born(o.PID)
	return o
}

// Prefix returns the beginning of the value of a variable that names the owner.
func (o Owner) Prefix() string {
	return strconv.Itoa(o.PID) + "." + strconv.FormatUint(o.Born, 10) + "."
}

// Alive reports whether the process has not ended.
func (o Owner) Alive() bool {
	born, ok := Alive(o.PID)
	return ok && born == o.Born
}

package proc

import (
	"os"
	"strconv"
)

// The variables by which processes say whose they are: the owner, and which of its
// children.
const (
	EnvOwner = "BEZOAR_CHILD"      // in jobs
	EnvLife  = "BEZOAR_LIFE"       // in servers
	EnvMark  = "BEZOAR_CHILD_MARK" // in jobs: whose they are across lives
)

// Owner names one process among all that the machine has run since it started.
type Owner struct {
	PID  int
	Born uint64 // in the kernel's ticks; 0 where it is not known
}

// Self is this process.
func Self() Owner {
	o := Owner{PID: os.Getpid()}
	o.Born, _ = Born(o.PID)
	return o
}

// Prefix begins the value of a variable that says whose a process is.
func (o Owner) Prefix() string {
	return strconv.Itoa(o.PID) + "." + strconv.FormatUint(o.Born, 10) + "."
}

// Alive reports whether the process has not ended.
func (o Owner) Alive() bool {
	born, ok := Alive(o.PID)
	return ok && born == o.Born
}

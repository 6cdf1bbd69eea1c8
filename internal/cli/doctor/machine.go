package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bezoar-dev/bezoar/internal/process/cgroup"
	"github.com/bezoar-dev/bezoar/internal/process/procstat"
)

// errSystem says that the system has no such feature, as outside Linux.
var errSystem = errors.New("this system has none")

// Machine reads facts about the machine. A nil function reads them from this machine. A pid of 0 is this process.
type Machine struct {
	Now         func() time.Time
	Files       func(pid int) (most int64, err error)           // most files that a process may open; 0: no bound
	GroupMemory func(pid int) (bytes int64, ok bool, err error) // memory limit of the group of a process
	Memory      func() (bytes int64, err error)                 // memory of the machine
	Disk        func(path string) (procstat.Space, error)
	FileSystem  func(path string) string // nfs, tmpfs and others; "": another kind, or unknown
	Pidfd       func() error
	Groups      func(pid int) error // why groups with limits cannot be made
	Alive       func(pid int) bool
	Listener    func(port int) (pid int, name string) // process that listens there; 0: not visible
}

func (m Machine) orThis() Machine {
	here := Machine{
		Now: time.Now, Files: filesOf, GroupMemory: groupMemory, Memory: machineMemory, Disk: procstat.Disk, FileSystem: fileSystem,
		Pidfd: pidfd, Groups: func(pid int) error { return cgroup.Able(this(pid)) }, Alive: alive, Listener: listener,
	}
	to, from := reflect.ValueOf(&m).Elem(), reflect.ValueOf(here)
	for i := range to.NumField() {
		if to.Field(i).IsNil() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return m
}

func filesOf(pid int) (int64, error) {
	p, err := procstat.Of(this(pid))
	if err == nil && p.FDLimit < 0 {
		err = fmt.Errorf("the limits of process %d: %w", this(pid), os.ErrPermission)
	}
	return p.FDLimit, err
}

func groupMemory(pid int) (int64, bool, error) {
	g, err := cgroup.Of(this(pid))
	if errors.Is(err, cgroup.ErrUnavailable) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return g.MemoryLimit()
}

func machineMemory() (int64, error) {
	m, err := procstat.Memory()
	return m.Total, err
}

func alive(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}

func this(pid int) int { return cmp.Or(pid, os.Getpid()) }

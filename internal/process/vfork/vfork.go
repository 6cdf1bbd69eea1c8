package vfork

import "errors"

// Child describes a child process.
type Child struct {
	Path   string   // of the program
	Args   []string // with the program's name
	Env    []string // KEY=value
	Dir    string   // working directory; "": the current one
	Files  [4]int   // our descriptors that become 0 to 3
	Limits []Limit
	Cgroup int   // descriptor of a version 2 cgroup's directory; below 0: none
	User   *User // nil: the user of this process
}

// Limit is a resource limit.
type Limit struct {
	Name      string // for errors
	Resource  int
	Soft, Max uint64
}

// User is the user that a child becomes. Only root can start a child as another user.
type User struct {
	UID, GID uint32
	Groups   []uint32
}

// ErrUnsupported means that children cannot be started here.
var ErrUnsupported = errors.New("vfork: not supported here")

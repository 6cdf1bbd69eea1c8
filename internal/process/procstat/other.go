//go:build !linux

package procstat

// Group locates the control groups of one process.
type Group struct{}

// Self returns ErrUnsupported.
func Self() (Process, error) { return Process{}, ErrUnsupported }

// Of returns ErrUnsupported.
func Of(int) (Process, error) { return Process{}, ErrUnsupported }

// Pressure returns ErrUnsupported.
func Pressure() (PSI, error) { return PSI{}, ErrUnsupported }

// Memory returns ErrUnsupported.
func Memory() (Mem, error) { return Mem{}, ErrUnsupported }

// Disk returns ErrUnsupported.
func Disk(string) (Space, error) { return Space{}, ErrUnsupported }

// GroupOf returns ErrUnsupported.
func GroupOf(int) (*Group, error) { return nil, ErrUnsupported }

// Memory returns ErrUnsupported.
func (*Group) Memory() (GroupMem, error) { return GroupMem{}, ErrUnsupported }

// Pressure returns ErrUnsupported.
func (*Group) Pressure() (PSI, error) { return PSI{}, ErrUnsupported }

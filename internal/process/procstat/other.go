//go:build !linux

package procstat

// Group locates the control groups of one process.
type Group struct{}

func Self() (Process, error) { return Process{}, ErrUnsupported }

func Of(int) (Process, error) { return Process{}, ErrUnsupported }

func Pressure() (PSI, error) { return PSI{}, ErrUnsupported }

func Memory() (Mem, error) { return Mem{}, ErrUnsupported }

func Disk(string) (Space, error) { return Space{}, ErrUnsupported }

func GroupOf(int) (*Group, error) { return nil, ErrUnsupported }

func (*Group) Memory() (GroupMem, error) { return GroupMem{}, ErrUnsupported }

func (*Group) Pressure() (PSI, error) { return PSI{}, ErrUnsupported }

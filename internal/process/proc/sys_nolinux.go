//go:build !linux

package proc

import (
	"errors"
	"syscall"
	"time"
)

func firstThread() bool { return false }

// Reap calls wait and then dead: elsewhere nothing can be done between.
func Reap(_ int, dead func(), wait func() error) error {
	err := wait()
	dead()
	return err
}

// DieWithThread needs Linux.
func DieWithThread(attr *syscall.SysProcAttr) *syscall.SysProcAttr { return attr }

// As does it as we are.
func (*User) As(do func() error) error { return do() }

// BecomeSubreaper needs Linux.
func BecomeSubreaper() error { return errors.ErrUnsupported }

// Born needs Linux.
func Born(int) (uint64, bool) { return 0, false }

// Alive needs Linux.
func Alive(int) (uint64, bool) { return 0, false }

// Dying is not known here.
func Dying(int) bool { return false }

// GroupAlive needs Linux.
func GroupAlive(int) bool { return false }

// Resident needs Linux.
func Resident(int) int64 { return 0 }

// Limits needs Linux.
func (Limits) Apply(int) error { return errors.ErrUnsupported }

// TagOf needs Linux.
func TagOf(int) Tag { return 0 }

// Variable needs Linux.
func Variable(int, string) (string, bool) { return "", false }

// Tasks needs Linux.
func Tasks() (int, error) { return 0, errors.ErrUnsupported }

// Has needs Linux.
func (Family) Has(int) bool { return false }

// Sockets is not known here.
func Sockets(Family) []uint64 { return nil }

// EndAdopted needs Linux.
func EndAdopted(Family, time.Duration) (int, error) { return 0, nil }

// Sweep needs Linux.
func Sweep(func(pid int) bool) (int, error) { return 0, nil }

// Reaper needs Linux.
type Reaper struct{}

// Round does nothing.
func (*Reaper) Round(func(pid int) bool) int { return 0 }

// Hold needs Linux.
func Hold(*syscall.SysProcAttr) {}

// CanHold reports that children cannot be held.
func CanHold() bool { return false }

// Release needs Linux.
func Release(int) error { return errors.ErrUnsupported }

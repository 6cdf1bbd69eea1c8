//go:build !linux

package proc

import (
	"errors"
	"syscall"
	"time"
)

func firstThread() bool { return false }

// Reap calls wait and then dead: only Linux allows a call in between.
func Reap(_ int, dead func(), wait func() error) error {
	err := wait()
	dead()
	return err
}

// DieWithThread does nothing: it needs Linux.
func DieWithThread(attr *syscall.SysProcAttr) *syscall.SysProcAttr { return attr }

// As runs do with the ids of this process.
func (*User) As(do func() error) error { return do() }

// BecomeSubreaper returns [errors.ErrUnsupported].
func BecomeSubreaper() error { return errors.ErrUnsupported }

// Born reports false.
func Born(int) (uint64, bool) { return 0, false }

// Alive reports false.
func Alive(int) (uint64, bool) { return 0, false }

// Dying reports false.
func Dying(int) bool { return false }

// GroupAlive reports false.
func GroupAlive(int) bool { return false }

// Resident returns 0.
func Resident(int) int64 { return 0 }

// Apply returns [errors.ErrUnsupported].
func (Limits) Apply(int) error { return errors.ErrUnsupported }

// TagOf returns 0.
func TagOf(int) Tag { return 0 }

func Variable(int, string) (string, bool) { return "", false }

// Tasks returns [errors.ErrUnsupported].
func Tasks() (int, error) { return 0, errors.ErrUnsupported }

func (Family) Has(int) bool { return false }

// Sockets returns nil.
func Sockets(Family) []uint64 { return nil }

func EndAdopted(Family, time.Duration) (int, error) { return 0, nil }

func Sweep(func(pid int) bool) (int, error) { return 0, nil }

func Ask(func(pid int) bool) map[int]uint64 { return nil }

// Reaper does nothing.
type Reaper struct{}

func (*Reaper) Round(func(pid int) bool) int { return 0 }

func Hold(*syscall.SysProcAttr) {}

func CanHold() (Files, bool) { return Files{}, false }

// Release returns [errors.ErrUnsupported].
func Release(int) error { return errors.ErrUnsupported }

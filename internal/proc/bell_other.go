//go:build !linux

package proc

// bell does nothing: the Go scheduler wakes the thread.
type bell struct{}

func newBell() *bell { return nil }

func (b *bell) ring() {}

func (b *bell) wait() {}

func (b *bell) close() {}

//go:build !linux

package initproc

// Run does nothing: only Linux has PID namespaces.
func Run() (code int, ok bool, err error) { return 0, false, nil }

//go:build !linux

package doctor

func pidfd() error { return errSystem }

func fileSystem(string) string { return "" }

func listener(int) (pid int, name string) { return 0, "" }

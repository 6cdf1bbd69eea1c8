//go:build !unix

package connlimit

func maxFiles() (uint64, bool) { return 0, false }

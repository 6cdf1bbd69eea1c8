//go:build !linux

package sqlite

import "os"

// hold does nothing: on other systems only the lock file shows the owner.
func hold(string, *os.File) error { return nil }

// release undoes hold.
func release(*os.File) error { return nil }

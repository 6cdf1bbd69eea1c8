//go:build !linux

package sqlite

import "os"

// hold locks nothing: elsewhere the lock file alone says who owns the database.
func hold(string, *os.File) error { return nil }

// release undoes hold.
func release(*os.File) error { return nil }

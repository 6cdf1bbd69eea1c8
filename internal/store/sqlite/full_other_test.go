//go:build !linux

package sqlite_test

import "errors"

func playFull(string) error { return errors.New("files are not limited here") }

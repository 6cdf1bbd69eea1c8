//go:build !unix

package regular

import "os"

func open(name string) (*os.File, error) { return os.Open(name) }

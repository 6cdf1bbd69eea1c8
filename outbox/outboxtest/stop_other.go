//go:build !unix

package outboxtest

import "os"

func stopping() (stop, resume os.Signal) { return nil, nil }

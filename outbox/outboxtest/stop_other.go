//go:build !unix

package outboxtest

import "os"

var stop, resume os.Signal //nolint:gochecknoglobals // constants

//go:build !linux

package pool

import (
	"errors"
	"time"
)

// usage measures nothing: it needs Linux.
type usage struct{}

func openUsage(int) (*usage, error) { return &usage{}, nil }

func (*usage) close() {}

func (*usage) memory() int64 { return 0 }

func (*usage) processor() (time.Duration, error) { return 0, errors.ErrUnsupported }

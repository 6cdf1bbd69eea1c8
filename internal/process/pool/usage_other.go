//go:build !linux

package pool

import (
	"errors"
	"time"
)

// usage would look at what a process holds and has used.
type usage struct{}

func openUsage(int) (*usage, error) { return &usage{}, nil }

func (*usage) close() {}

func (*usage) memory() int64 { return 0 }

func (*usage) processor() (time.Duration, error) { return 0, errors.ErrUnsupported }

//go:build !linux

package probe

import "errors"

func diagListeners(uint16) ([]uint64, error) { return nil, errors.ErrUnsupported }

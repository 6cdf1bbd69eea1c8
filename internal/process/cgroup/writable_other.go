//go:build !unix

package cgroup

import "errors"

func writable(string) error { return errors.ErrUnsupported }

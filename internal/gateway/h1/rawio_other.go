//go:build !linux

package h1

// Outside Linux, package net does what rawio_linux.go does.
type (
	rawIO  struct{}
	rawOut struct{}
)

func (s *sock) recv(p []byte) (int, error) { return s.nc.Read(p) }

func (x *Exchange) writeOnce() (int64, error) { return x.writeNet() }

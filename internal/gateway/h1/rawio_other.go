//go:build !linux

package h1

// What Linux does without package net, package net does elsewhere.
type (
	rawIO  struct{}
	rawOut struct{}
)

func (s *sock) recv(p []byte) (int, error) { return s.nc.Read(p) }

func (x *Exchange) writeOnce() (int64, error) { return x.writeNet() }

//go:build !linux

package h1

import (
	"net"
	"syscall"
)

// Other systems use package net for what Linux does with system calls.
type (
	rawIO  struct{}
	rawOut struct{}
)

func (r *rawIO) recv(_ syscall.RawConn, nc net.Conn, p []byte) (int, error) { return nc.Read(p) }

func (o *rawOut) write(_ syscall.RawConn, nc net.Conn, parts *net.Buffers) (int64, error) {
	return writeNet(nc, parts)
}

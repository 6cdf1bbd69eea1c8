//go:build !unix

package h1

import "errors"

type liveness int

const (
	quiet liveness = iota
	talking
	ended
	dead
)

type peeker struct{ b [1]byte }

// peek cannot check the connection on this system. A connection that the peer has closed fails when it is used.
func (s *sock) peek() liveness { return quiet }

func (s *sock) beyond() liveness { return talking }

const canRest = false

func (s *sock) rest() error { return errors.ErrUnsupported }

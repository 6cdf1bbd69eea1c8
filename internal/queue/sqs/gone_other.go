//go:build !unix

package sqs

import "net"

// gone returns false: on this system, only use of a connection shows that the peer has closed it.
func gone(net.Conn) bool { return false }

// asks returns false.
func asks(net.Conn) bool { return false }

// await returns false.
func await(net.Conn) bool { return false }

package proc

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports below those that the kernel gives to clients. A client's port could be
// taken while a crashed worker is away, and a client that dials a port that is
// nobody's may even get itself.
const (
	lowPort  = 15_000
	highPort = 30_000
)

// FreeAddrs returns n loopback addresses that nobody listens on.
func FreeAddrs(n int) ([]string, error) {
	addrs := make([]string, 0, n)
	for range 100 + 10*n {
		if len(addrs) == n {
			return addrs, nil
		}
		port := lowPort + rand.IntN(highPort-lowPort)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		defer l.Close() // all at once, so that no two are the same
		addrs = append(addrs, l.Addr().String())
	}
	return nil, errors.New("no free ports on 127.0.0.1 between 15000 and 30000")
}

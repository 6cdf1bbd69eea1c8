package supervise

import (
	"fmt"
	"net"
	"sync"
)

// ports returns free loopback ports, chosen by the system. It does not return a port that one of our workers has but may
// not have opened yet.
type ports struct {
	mu    sync.Mutex // guards taken
	taken map[int]bool
}

// portTries is how often the system is asked for another port.
const portTries = 64

func (p *ports) take() (int, error) {
	for range portTries {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return 0, fmt.Errorf("find a free port: %w", err)
		}
		port := ln.Addr().(*net.TCPAddr).Port
		_ = ln.Close()
		p.mu.Lock()
		free := !p.taken[port]
		if free {
			if p.taken == nil {
				p.taken = map[int]bool{}
			}
			p.taken[port] = true
		}
		p.mu.Unlock()
		if free {
			return port, nil
		}
	}
	return 0, fmt.Errorf("find a free port: the system offered a port in use %d times", portTries)
}

func (p *ports) give(port int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.taken, port)
}

package supervise

import (
	"fmt"
	"net"
	"sync"
)

// ports hands out free loopback ports. The system picks them; a port that one
// of our workers may not have opened yet is not handed out twice.
type ports struct {
	mu    sync.Mutex // guards taken
	taken map[int]bool
}

// portTries bounds how often the system is asked for another one.
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
	return 0, fmt.Errorf("find a free port: the system offers only ones that are taken, %d times", portTries)
}

func (p *ports) give(port int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.taken, port)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// The networks are of the range that is set aside for measurements (RFC 2544).
const (
	frontNet = "198.18.0." // callers and the admin API
	storeNet = "198.18.1." // the store alone
	ourHost  = "254"
)

// mayNot says why namespaces cannot be made here; nil: they can.
func mayNot() error {
	if os.Geteuid() != 0 {
		return errors.New("network namespaces take root: run it as root (go test -run Cluster ./internal/app shows the same without them)")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return errors.New("ip is not installed: apt-get install iproute2")
	}
	probe := fmt.Sprintf("bz%d-may", os.Getpid())
	if err := ip("netns", "add", probe); err != nil {
		return fmt.Errorf("this system lets nobody make network namespaces: %w", err)
	}
	return ip("netns", "del", probe)
}

func ip(args ...string) error {
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// network is two bridges and a namespace for each node, which has a link to both.
type network struct {
	tag   string
	nodes int
}

func (n *network) bridge(kind string) string           { return "bz" + n.tag + kind }
func (n *network) port(kind string, i int) string      { return fmt.Sprintf("bz%s%s%d", n.tag, kind, i) }
func (n *network) namespace(i int) string              { return fmt.Sprintf("bz%s-%d", n.tag, i) }
func (n *network) address(prefix string, i int) string { return fmt.Sprint(prefix, i+1) }

// newNetwork makes all of it, or nothing.
func newNetwork(nodes int) (*network, error) {
	n := &network{tag: fmt.Sprint(os.Getpid()), nodes: nodes}
	do := &script{}
	for kind, prefix := range map[string]string{"f": frontNet, "s": storeNet} {
		do.ip("link", "add", n.bridge(kind), "type", "bridge")
		do.ip("addr", "add", prefix+ourHost+"/24", "dev", n.bridge(kind))
		do.ip("link", "set", n.bridge(kind), "up")
	}
	for i := range nodes {
		ns := n.namespace(i)
		do.ip("netns", "add", ns)
		do.ip("-n", ns, "link", "set", "lo", "up")
		for kind, prefix := range map[string]string{"f": frontNet, "s": storeNet} {
			do.ip("link", "add", n.port(kind, i), "type", "veth", "peer", "name", "eth-"+kind, "netns", ns)
			do.ip("link", "set", n.port(kind, i), "master", n.bridge(kind), "up")
			do.ip("-n", ns, "addr", "add", n.address(prefix, i)+"/24", "dev", "eth-"+kind)
			do.ip("-n", ns, "link", "set", "eth-"+kind, "up")
		}
	}
	if do.err != nil {
		n.Close()
		return nil, do.err
	}
	return n, nil
}

// script stops at the first command that fails.
type script struct{ err error }

func (s *script) ip(args ...string) {
	if s.err == nil {
		s.err = ip(args...)
	}
}

// cut takes a node's link to the store out of its bridge: what it sends is lost
// and nobody tells it, as when a switch dies.
func (n *network) cut(i int) error { return ip("link", "set", n.port("s", i), "nomaster") }

// mend puts it back.
func (n *network) mend(i int) error {
	return ip("link", "set", n.port("s", i), "master", n.bridge("s"))
}

// Close removes what is there of it.
func (n *network) Close() {
	for i := range n.nodes {
		_ = ip("netns", "del", n.namespace(i)) // and its ends of the links
	}
	for _, kind := range []string{"f", "s"} {
		for i := range n.nodes {
			_ = ip("link", "del", n.port(kind, i)) // gone already, most likely
		}
		_ = ip("link", "del", n.bridge(kind))
	}
}

// relay leads from an address of the store's network to a server that listens
// on the loopback interface.
type relay struct {
	ln net.Listener
	to string
	wg sync.WaitGroup

	mu     sync.Mutex // guards what follows
	closed bool
	conns  map[net.Conn]bool
}

func newRelay(at, to string) (*relay, error) {
	ln, err := net.Listen("tcp", at)
	if err != nil {
		return nil, fmt.Errorf("relay to the store: %w", err)
	}
	r := &relay{ln: ln, to: to, conns: map[net.Conn]bool{}}
	r.wg.Go(r.serve)
	return r, nil
}

func (r *relay) serve() {
	for {
		c, err := r.ln.Accept()
		if err != nil {
			return
		}
		r.wg.Go(func() { r.join(c) })
	}
}

func (r *relay) join(c net.Conn) {
	defer c.Close()
	up, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(context.Background(), "tcp", r.to)
	if err != nil {
		return
	}
	defer up.Close()
	if !r.hold(c, up) {
		return
	}
	defer r.drop(c, up)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(up, c)
		up.Close()
	}()
	_, _ = io.Copy(c, up)
	c.Close()
	<-done
}

func (r *relay) hold(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		r.conns[c] = true
	}
	return !r.closed
}

func (r *relay) drop(conns ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		delete(r.conns, c)
	}
}

// Close ends every connection and waits for them.
func (r *relay) Close() {
	r.ln.Close()
	r.mu.Lock()
	r.closed = true
	for c := range r.conns {
		c.Close()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

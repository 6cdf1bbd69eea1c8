package probe

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// nameServer answers lookups as it is told.
type nameServer struct {
	mu    sync.Mutex
	addrs map[string][]string // by host; none: no such name
}

func (n *nameServer) set(host string, addrs ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addrs[host] = addrs
}

func (n *nameServer) lookup(_ context.Context, host string) (ips []netip.Addr, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.addrs[host]) == 0 {
		return nil, errors.New("no such host")
	}
	for _, a := range n.addrs[host] {
		ips = append(ips, netip.MustParseAddr(a))
	}
	return ips, nil
}

// TestNamesAreFollowed: every address of a name is a worker, one that comes later
// too, and one that is gone is drained and removed. What listens are processes of
// their own.
func TestNamesAreFollowed(t *testing.T) {
	first := &process{t: t, addr: freeAddr(t)}
	_, port, _ := net.SplitHostPort(first.addr)
	ip := func(p *process) string { host, _, _ := net.SplitHostPort(p.addr); return host }
	other := func() *process {
		host, _, _ := net.SplitHostPort(freeAddr(t))
		return &process{t: t, addr: host + ":" + port}
	}
	second, third := other(), other()
	for _, p := range []*process{first, second, third} {
		p.start()
	}
	dns := &nameServer{addrs: map[string][]string{}}
	dns.set("app.test", ip(first), ip(second), "::ffff:"+ip(first), "2001:db8::1") // IPv6 of the same servers
	reg := newRecorder()
	x := keep(t, reg, func(c *Config) {
		c.Resolve, c.lookup, c.Health.Path = 5*time.Millisecond, dns.lookup, "/healthz"
	}, "app.test:"+port)
	reg.wait(t, "up", 2)
	live := func() (addrs []string) {
		reg.mu.Lock()
		defer reg.mu.Unlock()
		for addr := range reg.epochs {
			addrs = append(addrs, addr)
		}
		slices.Sort(addrs)
		return addrs
	}
	expect := func(what string, want ...*process) {
		t.Helper()
		var addrs []string
		for _, p := range want {
			addrs = append(addrs, p.addr)
		}
		slices.Sort(addrs)
		until(t, what, func() bool { return slices.Equal(live(), addrs) })
	}
	expect("both addresses are up", first, second)
	if x.Size() != 2 {
		t.Errorf("there are %d workers", x.Size())
	}

	dns.set("app.test", ip(second), ip(third))
	reg.wait(t, "remove", 1)
	expect("the name has moved", second, third)
	if end := reg.end(); !end.Planned || !strings.Contains(end.Detail, "app.test:"+port+" no longer resolves to it") {
		t.Errorf("end %+v", end)
	}

	// While nobody answers what was known holds.
	dns.set("app.test")
	until(t, "the failure is noticed", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.names["app.test:"+port].failed
	})
	expect("nothing has changed", second, third)

	// New settings begin with the addresses of new names.
	dns.set("app.test", ip(third))
	dns.set("new.test", ip(first), ip(second))
	list(t, x, nil, "new.test:"+port)
	reg.wait(t, "remove", 2)
	expect("the other name holds", first, second)
}

func TestOneMissIsNone(t *testing.T) {
	x, err := New(Config{Registry: newRecorder(), Workers: []string{"http://a.test:1", "http://localhost:2", "http://10.0.0.9:1"}})
	if err != nil {
		t.Fatal(err)
	}
	n := &resolved{misses: map[string]int{}}
	x.names["a.test:1"] = n
	for i, step := range []struct{ answer, want string }{
		{"10.0.0.1:1 10.0.0.2:1", "10.0.0.1:1 10.0.0.2:1"},
		{"10.0.0.1:1", "10.0.0.1:1 10.0.0.2:1"}, // a server that answers with some of them
		{"10.0.0.2:1", "10.0.0.1:1 10.0.0.2:1"},
		{"10.0.0.2:1", "10.0.0.2:1"},
		{"", "10.0.0.2:1"},
		{"10.0.0.9:1", "10.0.0.2:1 10.0.0.9:1"},
	} {
		x.learn("a.test:1", n, strings.Fields(step.answer), nil)
		if got := strings.Join(n.addrs, " "); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
	// Each address once, and localhost as it is.
	if got := strings.Join(x.expand([]string{"a.test:1", "localhost:2", "10.0.0.9:1", "b.test:1"}), " "); got != "10.0.0.2:1 10.0.0.9:1 localhost:2 b.test:1" {
		t.Errorf("the workers are %s", got)
	}
}

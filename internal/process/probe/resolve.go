package probe

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// The bounds of looking names up.
const (
	lookupPatience = 2 * time.Second // for one name
	lookupsAtOnce  = 16
	unknownRetry   = time.Second
	missesToGo     = 2 // answers in a row without an address, until it is given up
)

// lookupFunc returns the addresses of a host.
type lookupFunc func(ctx context.Context, host string) ([]netip.Addr, error)

func systemLookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// resolved is what is known of one host:port.
type resolved struct {
	addrs  []string       // names of workers, sorted; none when no lookup has succeeded
	misses map[string]int // answers in a row without an address that is among addrs
	failed bool           // the last lookup; it has been logged
}

// isName reports whether where a worker listens has to be looked up. localhost does
// not move, and has two addresses, of which servers mostly listen on one.
func isName(worker string) bool {
	network, addr := place(worker)
	if network == "unix" {
		return false
	}
	host, _, _ := net.SplitHostPort(addr)
	_, err := netip.ParseAddr(host)
	return err != nil && host != "localhost" && !strings.HasSuffix(host, ".localhost")
}

// expand returns the workers of what is written: every address of a name is one.
// A name without known addresses stands for itself. mu is held, or nobody knows x
// yet.
func (x *ExternalWorkers) expand(written []string) []string {
	out := make([]string, 0, len(written))
	x.hosts = map[string]string{}
	add := func(addr string) {
		if !slices.Contains(out, addr) && len(out) < MaxWorkers {
			out = append(out, addr)
		}
	}
	for _, w := range written {
		n := x.names[w]
		if n == nil || len(n.addrs) == 0 {
			add(w)
			continue
		}
		for _, addr := range n.addrs {
			x.hosts[addr] = w
			add(addr)
		}
	}
	return out
}

// lookUp looks up the names among the workers that are written, and notes what has
// changed.
func (x *ExternalWorkers) lookUp(ctx context.Context, written []string) {
	type answer struct {
		addrs []string
		err   error
	}
	names := slices.DeleteFunc(slices.Clone(written), func(w string) bool { return !isName(w) })
	answers := make([]answer, len(names))
	var wg sync.WaitGroup
	room := make(chan struct{}, lookupsAtOnce)
	for i, name := range names {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			answers[i].addrs, answers[i].err = x.addressesOf(ctx, name)
		})
	}
	wg.Wait()
	if errors.Is(ctx.Err(), context.Canceled) {
		return // what came of it says nothing
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for name := range x.names {
		if !slices.Contains(names, name) {
			delete(x.names, name)
		}
	}
	for i, name := range names {
		n := x.names[name]
		if n == nil {
			n = &resolved{misses: map[string]int{}}
			x.names[name] = n
		}
		x.learn(name, n, answers[i].addrs, answers[i].err)
	}
}

// addressesOf returns the workers at the addresses of a name: those of IPv4 if there
// are any, because a server that has both is one server.
func (x *ExternalWorkers) addressesOf(ctx context.Context, name string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupPatience)
	defer cancel()
	_, addr := place(name)
	before := strings.TrimSuffix(name, addr)
	host, port, _ := net.SplitHostPort(addr)
	ips, err := x.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	var v4, v6 []string
	for _, ip := range ips {
		if ip = ip.Unmap(); ip.Is4() {
			v4 = append(v4, before+net.JoinHostPort(ip.String(), port))
		} else {
			v6 = append(v6, before+net.JoinHostPort(ip.WithZone("").String(), port))
		}
	}
	if len(v4) == 0 {
		v4 = v6
	}
	slices.Sort(v4)
	return slices.Compact(v4), nil
}

// learn takes one answer into account. While none comes, the addresses before it
// hold. mu is held.
func (x *ExternalWorkers) learn(name string, n *resolved, addrs []string, err error) {
	if err != nil || len(addrs) == 0 {
		if !n.failed {
			n.failed = true
			x.log.Warn("a worker's name cannot be looked up", "name", name, "error", err, "kept", n.addrs)
		}
		return
	}
	n.failed = false
	next := slices.Clone(addrs)
	for _, old := range n.addrs {
		if slices.Contains(addrs, old) {
			delete(n.misses, old)
			continue
		}
		if n.misses[old]++; n.misses[old] < missesToGo {
			next = append(next, old)
		} else {
			delete(n.misses, old)
		}
	}
	slices.Sort(next)
	if slices.Equal(next, n.addrs) {
		return
	}
	x.log.Info("a worker's name has other addresses", "name", name, "addresses", next, "before", n.addrs)
	n.addrs = next
}

// followNames looks names up again and again, until ctx ends.
func (x *ExternalWorkers) followNames(ctx context.Context) {
	for {
		changed := x.change()
		cfg := x.cfg.Load()
		if !slices.ContainsFunc(cfg.addresses(), isName) {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return
			}
		}
		t := time.NewTimer(jitter(x.nextLookup(cfg.Resolve)))
		select {
		case <-t.C:
		case <-changed:
			t.Stop()
			continue
		case <-ctx.Done():
			t.Stop()
			return
		}
		x.lookUp(ctx, cfg.addresses())
		if ctx.Err() != nil {
			return
		}
		x.mu.Lock()
		was := x.size
		x.setWorkers(x.expand(x.cfg.Load().addresses()))
		is := x.size
		x.mu.Unlock()
		if is != was && cfg.Resized != nil {
			cfg.Resized(is)
		}
	}
}

// nextLookup is how long to wait for it: not for long while a name has no address
// yet.
func (x *ExternalWorkers) nextLookup(every time.Duration) time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, n := range x.names {
		if len(n.addrs) == 0 {
			return min(every, unknownRetry)
		}
	}
	return every
}

// Size returns how many workers there are, up or not. Those that are being taken
// out do not count.
func (x *ExternalWorkers) Size() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.size
}

// probeOf is how a worker is asked how it is: by the name that its address is of.
func (x *ExternalWorkers) probeOf(r *remote) Probe {
	cfg := x.cfg.Load()
	p := cfg.Health.probe()
	p.HTTP2 = cfg.HTTP2
	if r.host != "" {
		p.Host = hostOf(r.host)
	}
	p.dialer = x.dialer(r)
	return p
}

// lookUpNew looks up the names that are not known yet, so that settings that name
// them begin with their addresses.
func (x *ExternalWorkers) lookUpNew(written []string) {
	x.mu.Lock()
	known := func(w string) bool { n := x.names[w]; return n != nil && len(n.addrs) > 0 }
	unknown := slices.ContainsFunc(written, func(w string) bool { return isName(w) && !known(w) })
	x.mu.Unlock()
	if unknown {
		ctx, cancel := context.WithTimeout(context.Background(), lookupPatience)
		defer cancel()
		x.lookUp(ctx, written)
	}
}

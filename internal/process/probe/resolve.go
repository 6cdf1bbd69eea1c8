package probe

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// The limits of name lookups.
const (
	lookupPatience = 2 * time.Second // for one name
	lookupsAtOnce  = 16
	unknownRetry   = time.Second
	missesToGo     = 2 // lookups in a row without an address, after which it is dropped
)

// lookupFunc returns the addresses of a host.
type lookupFunc func(ctx context.Context, host string) ([]netip.Addr, error)

func systemLookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// resolved is the state of one host:port.
type resolved struct {
	addrs  []string       // names of workers, sorted; empty until a lookup has succeeded
	misses map[string]int // lookups in a row that did not return the address
	failed bool           // the last lookup failed; that has been logged
}

// isName reports whether a worker's host must be resolved. localhost never changes; it has two addresses, and most servers
// listen on one of them.
func isName(worker string) bool {
	network, addr := place(worker)
	if network == "unix" {
		return false
	}
	host, _, _ := net.SplitHostPort(addr)
	_, err := netip.ParseAddr(host)
	return err != nil && host != "localhost" && !strings.HasSuffix(host, ".localhost")
}

// expand returns the workers for the names in the settings: each address of a name is one. A name without known addresses
// is itself a worker. The caller holds mu, or is the only user of x.
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

// lookUp resolves the names in the settings and applies changes.
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
		return // the results have no meaning
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	maps.DeleteFunc(x.names, func(name string, _ *resolved) bool { return !slices.Contains(names, name) })
	for i, name := range names {
		n := x.names[name]
		if n == nil {
			n = &resolved{misses: map[string]int{}}
			x.names[name] = n
		}
		x.learn(name, n, answers[i].addrs, answers[i].err)
	}
}

// addressesOf returns the workers at the addresses of a name. It returns only IPv4 addresses if there are any: a server
// with both is one server.
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

// learn applies one lookup. After a failed lookup the addresses of the last successful one stay. The caller holds mu.
func (x *ExternalWorkers) learn(name string, n *resolved, addrs []string, err error) {
	if err != nil || len(addrs) == 0 {
		if !n.failed {
			n.failed = true
			x.log.Warn("a worker's name cannot be resolved", "name", name, "error", err, "kept", n.addrs)
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
	x.log.Info("the addresses of a worker's name have changed", "name", name, "addresses", next, "before", n.addrs)
	n.addrs = next
}

// followNames resolves names repeatedly until ctx ends.
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
		select {
		case <-time.After(jitter(x.nextLookup(cfg.Resolve))):
		case <-changed:
			continue
		case <-ctx.Done():
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

// nextLookup returns the time until the next lookup: a short one while a name has no address yet.
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

// Size returns the number of workers, up or not, without those that are being removed.
func (x *ExternalWorkers) Size() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.size
}

// probeOf returns the health request for a worker. It names the host that the address belongs to.
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

// lookUpNew resolves new names, so that the workers in new settings start with addresses.
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

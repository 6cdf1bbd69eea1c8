package gateway

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// generation counts the requests that run with one generation of settings. It has separate cache lines, because every
// request writes to it and reads the settings.
type generation struct {
	_ [64]byte
	n atomic.Int64
	_ [64]byte
}

// former are earlier generations that are still in use.
type former struct {
	mu  sync.Mutex // guards all
	all []*generation
}

// settledTick is how often Settled checks.
const settledTick = 5 * time.Millisecond

// hold returns the current settings. They are in use until drop.
func (g *Gateway) hold() *settings {
	for {
		s := g.now.Load()
		if g.use(s) {
			return s
		}
	}
}

// use counts one more user of s, unless s has been replaced: a caller that waits for its users must not miss a new one.
func (g *Gateway) use(s *settings) bool {
	s.used.n.Add(1)
	if g.now.Load() == s {
		return true
	}
	s.drop()
	return false
}

func (s *settings) drop() { s.used.n.Add(-1) }

func (g *Gateway) replace(s *settings) {
	g.former.mu.Lock()
	defer g.former.mu.Unlock()
	was := g.now.Swap(s)
	g.former.all = append(inUse(g.former.all), was.used)
}

func inUse(all []*generation) []*generation {
	kept := all[:0]
	for _, u := range all {
		if u.n.Load() > 0 {
			kept = append(kept, u)
		}
	}
	clear(all[len(kept):])
	return kept
}

// Settled waits until every request that began before the last [Gateway.Swap] has ended, including long ones and upgraded
// connections. Then nothing refers to the previous settings.
func (g *Gateway) Settled(ctx context.Context) error {
	tick := time.NewTicker(settledTick)
	defer tick.Stop()
	for {
		g.former.mu.Lock()
		g.former.all = inUse(g.former.all)
		n := len(g.former.all)
		g.former.mu.Unlock()
		if n == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

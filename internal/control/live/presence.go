package live

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// maxPresence is the maximum time to live of a node's report.
const maxPresence = time.Hour

// CheckPresence returns an error if n is invalid, or ttl out of range.
func CheckPresence(n Node, ttl time.Duration) error {
	err := n.Validate()
	if ttl < time.Millisecond || ttl > maxPresence {
		err = errors.Join(err, fmt.Errorf("time to live: %v is not between 1ms and %v", ttl, maxPresence))
	}
	return err
}

// Presence keeps nodes in memory, for a store that only one process uses. The zero Presence
// is empty.
type Presence struct {
	mu    sync.Mutex // guards nodes
	nodes map[string]present
}

type present struct {
	node  Node
	until time.Time
}

// Put is [Store.PutNode] at the time now.
func (p *Presence) Put(now time.Time, n Node, ttl time.Duration) error {
	if err := CheckPresence(n, ttl); err != nil {
		return fmt.Errorf("put node %.80q: %w", n.Name, err)
	}
	n.Since, n.Seen = n.Since.UTC().Truncate(time.Microsecond), now.UTC().Truncate(time.Microsecond)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(now)
	if _, there := p.nodes[n.Name]; !there && len(p.nodes) >= MaxNodes {
		return fmt.Errorf("put node %.80q: the maximum of %d nodes is reached", n.Name, MaxNodes)
	}
	if p.nodes == nil {
		p.nodes = make(map[string]present)
	}
	p.nodes[n.Name] = present{n, now.Add(ttl)}
	return nil
}

// List is [Store.Nodes] at the time now.
func (p *Presence) List(now time.Time) []Node {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(now)
	var found []Node
	for _, n := range p.nodes {
		found = append(found, n.node)
	}
	sorted.Func(found, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	return found
}

func (p *Presence) drop(now time.Time) {
	maps.DeleteFunc(p.nodes, func(_ string, n present) bool { return !n.until.After(now) })
}

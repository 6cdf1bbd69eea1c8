package circuit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// What can be wrong with a name.
var (
	ErrFull    = errors.New("there are as many circuit breakers as there may be")
	ErrUnknown = errors.New("there is no such circuit breaker")
)

// Circuits are the breakers of one process, by name.
type Circuits struct {
	config Config
	events chan Event
	wake   chan struct{} // something is to be written
	nudge  chan struct{} // read the store now

	down    atomic.Bool // the store failed, which has been logged
	errors  atomic.Uint64
	alone   atomic.Uint64
	dropped atomic.Uint64

	mu        sync.Mutex // guards what follows; taken after a breaker's
	breakers  map[string]*Breaker
	unwritten map[*Breaker]struct{} // what the store does not know
	gone      map[string]string     // keys of what was removed and the store still has, and their names
	writing   bool                  // the store is being told
	read      time.Time
}

// New returns a set without breakers.
func New(cfg Config) (*Circuits, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("circuit breakers: %w", err)
	}
	return &Circuits{
		config:    cfg.WithDefaults(),
		events:    make(chan Event, maxEvents),
		wake:      make(chan struct{}, 1),
		nudge:     make(chan struct{}, 1),
		breakers:  make(map[string]*Breaker),
		unwritten: make(map[*Breaker]struct{}),
		gone:      make(map[string]string),
	}, nil
}

// Breaker returns the breaker with that name. It creates a missing one, and then reads its
// state from the store in the background. cfg replaces the settings of an existing one;
// cfg.Node is ignored.
func (c *Circuits) Breaker(name string, cfg breaker.Config) (*Breaker, error) {
	key, err := keyOf(name)
	if err != nil {
		return nil, err
	}
	cfg.Node = ""
	if c.config.Store != nil {
		cfg.Node = c.config.Node
	}
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("circuit breaker %s: %w", name, err)
	}
	c.mu.Lock()
	b := c.breakers[name]
	if b == nil {
		defer c.mu.Unlock()
		if len(c.breakers) >= c.config.Max {
			return nil, fmt.Errorf("circuit breaker %s: %w: %d", name, ErrFull, c.config.Max)
		}
		b = newBreaker(c, name, key, cfg)
		c.breakers[name] = b
		poke(c.nudge)
		return b, nil
	}
	c.mu.Unlock()
	b.mu.Lock()
	b.policy.Config = cfg
	b.mu.Unlock()
	return b, nil
}

// Remove forgets a breaker and its override, and deletes its mark in the background. A
// caller that still has the breaker has one that is no longer shared. Nodes that have not
// removed theirs go on sharing it.
func (c *Circuits) Remove(name string) {
	c.mu.Lock()
	b := c.breakers[name]
	if b == nil {
		c.mu.Unlock()
		return
	}
	delete(c.breakers, name)
	delete(c.unwritten, b)
	c.bury(b)
	c.mu.Unlock()
	b.mu.Lock()
	b.removed, b.dirty = true, false
	b.mu.Unlock()
}

// bury has the mark of b deleted. When too many wait for that, its time to live
// does it. The caller holds c's lock.
func (c *Circuits) bury(b *Breaker) {
	if c.config.Store != nil && len(c.gone) < c.config.Max {
		c.gone[b.key] = b.name
		poke(c.wake)
	}
}

func (c *Circuits) get(name string) *Breaker {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.breakers[name]
}

func (c *Circuits) all() []*Breaker {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.breakers))
}

// poke wakes who waits for ch, now or the next time.
func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

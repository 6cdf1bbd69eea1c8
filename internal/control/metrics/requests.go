package metrics

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
	"github.com/bezoar-dev/bezoar/policy/sketch"
)

const maxShards = 16

// Requests counts requests. Create it with [New]. It is safe for concurrent use.
type Requests struct {
	seed   maphash.Seed
	shards []shard
	top    top

	mu     sync.Mutex // guards the fields below; held while they change
	labels string
	routes []Route // by their index in a shard's counts; the first is {"", ""}
}

// shard is a part of the counts.
type shard struct {
	mu     sync.Mutex // guards the fields below
	index  map[string]int
	counts []counts
	tally  tally
	names  names
	_      [64]byte // keeps the locks in different cache lines
}

// names maps routes to the way in which their callers are named in lists.
type names map[string]way

// way is the way in which the callers of a route are named. salt separates callers that are
// named in different ways.
type way struct {
	Shown

	salt uint64
}

// Values of [adminapi.Top].Names in addition to those of [Shown].How.
const (
	NamesOff   = "off"
	NamesMixed = "mixed"
)

// namesOf returns the ways in which callers are named, and a summary of them in one word.
func (s *Requests) namesOf(set Settings) (n names, word string) {
	n = names{}
	if len(set.Routes) > 0 {
		word = NamesOff
	}
	for route, shown := range set.Shown {
		n[route] = way{shown, maphash.String(s.seed, shown.How)}
		switch word {
		case "", NamesOff, shown.How:
			word = shown.How
		default:
			word = NamesMixed
		}
	}
	return n, word
}

// New returns a Requests without routes and callers, to be set by [Requests.Update]. The
// error names every fault of cfg.
func New(cfg Config) (*Requests, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	cfg.Counters = cmp.Or(cfg.Counters, DefaultCounters)
	if cfg.Shards == 0 {
		cfg.Shards = min(1<<bits.Len(uint(runtime.GOMAXPROCS(0)-1)), maxShards)
	}
	s := &Requests{seed: maphash.MakeSeed(), shards: make([]shard, cfg.Shards), routes: []Route{{}}}
	if err := s.top.open(cfg.Counters); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	for i := range s.shards {
		s.shards[i].counts = make([]counts, 1)
	}
	s.top.mode = NamesOff
	return s, nil
}

// Update sets the routes with counters, and how callers are shown. Remaining routes keep
// their counts. If the way to show callers changes, the counted callers are forgotten.
func (s *Requests) Update(set Settings) error {
	for route, shown := range set.Shown {
		if shown.As == nil || shown.How == "" || shown.How == NamesOff || shown.How == NamesMixed {
			return fmt.Errorf("metrics: callers of route %.100q cannot be shown as %.20q: unknown way", route, shown.How)
		}
	}
	n, word := s.namesOf(set)
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh, index := s.place(set.Routes[:min(len(set.Routes), MaxRoutes)])
	again := s.labels != set.Labels || len(n) == 0
	for route, was := range s.shards[0].names { // only this function changes it
		now, ok := n[route]
		again = again || ok && now.How != was.How
	}
	s.labels = set.Labels
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		for len(sh.counts) < len(s.routes) {
			sh.counts = append(sh.counts, counts{})
		}
		for _, at := range fresh {
			sh.counts[at] = counts{}
		}
		sh.index, sh.names = index, n
		if again {
			sh.tally.reset()
		}
		sh.mu.Unlock()
	}
	s.top.call(word, again)
	return nil
}

// place assigns indexes to routes: known routes keep theirs, others get free ones. fresh
// lists the indexes whose old counts must be cleared.
func (s *Requests) place(routes []Route) (fresh []int, index map[string]int) {
	index = make(map[string]int, len(routes))
	wanted := make(map[Route]bool, len(routes))
	for _, r := range routes {
		wanted[r] = r.Name != ""
	}
	var free []int
	for at, r := range s.routes[1:] {
		if wanted[r] {
			index[r.Name] = at + 1
		} else {
			s.routes[at+1] = Route{} // a free place
			free = append(free, at+1)
		}
	}
	for _, r := range routes {
		if _, ok := index[r.Name]; ok || r.Name == "" {
			continue
		}
		if len(free) == 0 {
			free = append(free, len(s.routes))
			s.routes = append(s.routes, r)
		}
		at := free[0]
		free = free[1:]
		s.routes[at], index[r.Name] = r, at
		fresh = append(fresh, at)
	}
	return fresh, index
}

// Observe counts a finished request. It does not keep r.
func (s *Requests) Observe(r *accesslog.Record) {
	w := weigh(r)
	var key uint64
	if r.Caller != "" {
		key = maphash.String(s.seed, r.Caller)
	}
	sh := &s.shards[rand.Uint32()&uint32(len(s.shards)-1)]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.counts[sh.index[r.Route]].observe(r)
	how, listed := sh.names[r.Route]
	if r.Caller == "" || !listed {
		sh.tally.rest.add(&w)
		return
	}
	key ^= how.salt
	row, at := sh.tally.find(key)
	if row == nil {
		if sh.tally.full() {
			s.top.drain(&sh.tally)
			_, at = sh.tally.find(key)
		}
		row = sh.tally.take(at, key, sketch.MakeName(how.As(r.Caller)))
	}
	row.weighs.add(&w)
}

// flush adds the shards' counts of callers to the windows.
func (s *Requests) flush() {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		s.top.drain(&sh.tally)
		sh.mu.Unlock()
	}
}

// flushEvery is the maximum delay before a caller is counted.
const flushEvery = time.Second

// Run adds the counts of callers to the windows regularly, until ctx ends. It returns nil.
func (s *Requests) Run(ctx context.Context) error {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			s.flush()
		}
	}
}

func (s *Requests) sum() ([]Route, []counts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]counts, len(s.routes))
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		for at := range sh.counts {
			all[at].add(&sh.counts[at])
		}
		sh.mu.Unlock()
	}
	return slices.Clone(s.routes), all
}

package config

import (
	"path/filepath"
	"strings"
	"time"
)

// Default fleet sizes and names.
const (
	defaultReplicas = 2 // one for the work, one for the lane
	defaultStateDir = ".bezoar"
)

// Default returns the settings of an empty file.
func Default() Config {
	var c Config
	c.setDefaults()
	c.fill()
	return c
}

// Queues returns the settings of a server that serves only queues, changed by edit.
func Queues(edit func(*Config)) (Config, error) {
	var c Config
	c.setDefaults()
	c.Listen, c.SQS = "", DefaultSQS
	edit(&c)
	c.fill()
	return c, c.Validate()
}

// DefaultFleet returns a fleet with all defaults, without workers.
func DefaultFleet() Fleet {
	var f Fleet
	f.setDefaults()
	return f
}

// DefaultRoute returns a route with all defaults, without match and fleet.
func DefaultRoute() Route {
	var r Route
	r.setDefaults()
	return r
}

// DefaultQueue returns a queue with all defaults.
func DefaultQueue() Queue {
	var q Queue
	q.setDefaults()
	return q
}

// defaulter is called before a struct is decoded.
type defaulter interface{ setDefaults() }

func (c *Config) setDefaults() {
	*c = Config{
		Listen:      "127.0.0.1:8080",
		Admin:       "127.0.0.1:7070",
		Store:       "sqlite:bezoar.db",
		StoreWait:   30 * time.Second,
		BufferTotal: 256 << 20,
		Health:      Checks{Memory: 0.9, Disk: 0.9, Descriptors: 0.8, CPU: 0.8},
		Live:        Live{Watch: true, Share: true, Poll: 100 * time.Millisecond},
	}
}

func (f *Fleet) setDefaults() {
	*f = Fleet{
		Health: Health{
			Interval:   time.Second,
			Timeout:    time.Second,
			PanicBelow: 0.5,
		},
		Resolve:      5 * time.Second,
		Grace:        5 * time.Second,
		Drain:        30 * time.Second,
		Bake:         Bake{Requests: 100, Time: 10 * time.Second},
		MaxInFlight:  256,
		AnswerFields: 1000,
		LaneShare:    0.25,
		Balance:      Balance{Eject: Eject{Consecutive: 5, Ratio: 0.5, For: 30 * time.Second, MaxShare: 0.1}},
		Retries:      Budget{Ratio: 0.2, Floor: 3},
	}
}

func (r *Route) setDefaults() {
	*r = Route{
		Quarantine: Quarantine{
			After:   2,
			Within:  10 * time.Minute,
			For:     time.Minute,
			Max:     time.Hour,
			Strikes: 3,
		},
		Retry: Retry{
			Attempts:    3,
			Budget:      0.2,
			BudgetFloor: 3,
			Replay:      ReplayIdempotent,
			BaseDelay:   25 * time.Millisecond,
			Cap:         250 * time.Millisecond,
		},
		Timeout:    30 * time.Second,
		Buffer:     64 << 10,
		Priority:   Priority{Default: "critical"},
		Paths:      "normalise",
		Lookalikes: "drop",
	}
}

// fill sets values that depend on other settings, and normalizes spellings.
func (c *Config) fill() {
	if c.StateDir == "" {
		c.StateDir = stateBeside(c.Store)
	}
	for name, f := range c.Fleets {
		if len(f.Command) > 0 && f.Replicas == 0 {
			f.Replicas = defaultReplicas
		}
		for i, w := range f.Workers {
			f.Workers[i] = strings.TrimSuffix(w, "/")
		}
		for w, weight := range f.Balance.Weights {
			if short, ok := strings.CutSuffix(w, "/"); ok {
				delete(f.Balance.Weights, w)
				f.Balance.Weights[short] = weight
			}
		}
		c.Fleets[name] = f
	}
	c.fillQueues()
	for i := range c.Routes {
		m := &c.Routes[i].Match
		if m.Path == "" && (m.Host != "" || len(m.Methods) > 0) {
			m.Path = "/*"
		}
		m.Host = strings.ToLower(m.Host)
		for j, method := range m.Methods {
			m.Methods[j] = strings.ToUpper(method)
		}
		if g := c.Routes[i].Guard; g != nil && g.Query == "" && g.Regex != "" {
			g.Query = "regex"
		}
		for j := range c.Routes[i].Limits {
			c.Routes[i].Limits[j].fill()
		}
	}
	for _, p := range c.Plans {
		for j := range p.Limits {
			p.Limits[j].fill()
		}
	}
}

// stateBeside returns the state directory beside an embedded store. The memory store needs
// none.
func stateBeside(store string) string {
	if store == MemoryStore {
		return ""
	}
	if path, ok := strings.CutPrefix(store, "sqlite:"); ok && path != "" {
		return filepath.Join(filepath.Dir(path), defaultStateDir)
	}
	return defaultStateDir
}

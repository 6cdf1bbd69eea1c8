package config

import (
	"reflect"
	"strconv"
	"time"
)

// Flows lets this process plan flows and run their tasks.
type Flows struct {
	Dir    string           `yaml:"dir"`                    // Folder of definitions, *.yaml and *.yml. Empty: runs are started by the command line only.
	Labels []string         `yaml:"labels"`                 // Labels of this node, for tasks with runs_on.
	Slots  int              `yaml:"slots" range:"1..10000"` // Most attempts at the same time on this node.
	Pools  map[string]Slots `yaml:"pools"`                  // Slots of each pool by its name, for definitions that do not say.
	Lease  time.Duration    `yaml:"lease" range:"3s..10m"`  // How long this node may be silent before other nodes take its runs.
}

func (f *Flows) setDefaults() { *f = Flows{Slots: 8, Lease: 15 * time.Second} }

func (f *Flows) fromWord(word string) error {
	f.setDefaults()
	f.Dir = word
	return nil
}

func (f Flows) toWord() (string, bool) {
	var plain Flows
	plain.setDefaults()
	return f.Dir, f.Dir != "" && len(f.Labels)+len(f.Pools) == 0 && f.Slots == plain.Slots && f.Lease == plain.Lease
}

// Slots is the number of concurrent attempts in a pool, weighted by their slots.
type Slots int

// UnmarshalText reads a number.
func (s *Slots) UnmarshalText(text []byte) error {
	return setText(reflect.ValueOf((*int)(s)).Elem(), string(text))
}

func (s Slots) String() string { return strconv.Itoa(int(s)) }

// maxPool is the maximum number of slots of a pool.
const maxPool = 10_000

func (c *Config) checkFlows(k *checker) {
	if c.Flows == nil {
		return
	}
	k.when(c.StateDir == "", "flows", "name a state_dir", "need a directory for the logs of tasks, and %s has none", quoted(c.Store))
	for _, l := range c.Flows.Labels {
		k.when(!nodeName(l), "flows.labels", "use up to 64 letters, digits, -, _ and .", "%s is not a label", quoted(l))
	}
	for _, name := range sortedKeys(c.Flows.Pools) {
		switch slots := c.Flows.Pools[name]; {
		case !nodeName(name):
			k.addf("flows.pools", "use up to 64 letters, digits, -, _ and .", "%s is not a valid pool name", quoted(name))
		case slots < 1 || slots > maxPool:
			k.addf("flows.pools."+name, "write 1 to 10000", "has %d slots", slots)
		}
	}
}

package blame

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Rule is one route's policy of conviction. The zero value of a field means
// its default, which [Rule.WithDefaults] sets: a [Work] wants it set. As much
// evidence is held per fingerprint as the longest rule can ask for.
type Rule struct {
	After   int           // N: crashes that convict; 1 to 8, default 2
	Within  time.Duration // window in which they count; default 10 min
	For     time.Duration // first quarantine; default 1 min
	Max     time.Duration // longest quarantine; default 1 h
	Strikes int           // overdue or connection faults on a live worker that convict; 1 to 8, default 3

	// ReportOnly decides and tells, and neither refuses nor isolates: all its work
	// runs in the fleet, and [Decision.Would] says what would have become of it. A
	// death with nothing else in flight or just answered counts as one in the lane,
	// and every success as a clean run there. An operator's order holds all the same.
	ReportOnly bool
}

// WithDefaults returns r with every zero field set to its default.
func (r Rule) WithDefaults() Rule {
	if r.After == 0 {
		r.After = 2
	}
	if r.Within == 0 {
		r.Within = 10 * time.Minute
	}
	if r.For == 0 {
		r.For = time.Minute
	}
	if r.Max == 0 {
		r.Max = max(time.Hour, r.For)
	}
	if r.Strikes == 0 {
		r.Strikes = 3
	}
	return r
}

// Validate reports every impossible field.
func (r Rule) Validate() error {
	r = r.WithDefaults()
	var errs []error
	if r.After < 1 || r.After > bezoar.MaxEvidence {
		errs = append(errs, fmt.Errorf("after is %d, want 1 to %d crashes", r.After, bezoar.MaxEvidence))
	}
	if r.Within < time.Second {
		errs = append(errs, fmt.Errorf("within is %v, want at least 1s", r.Within))
	}
	if r.For < time.Second {
		errs = append(errs, fmt.Errorf("for is %v, want at least 1s", r.For))
	}
	if r.Max < r.For {
		errs = append(errs, fmt.Errorf("max is %v, want at least for (%v)", r.Max, r.For))
	}
	if r.Strikes < 1 || r.Strikes > bezoar.MaxEvidence {
		errs = append(errs, fmt.Errorf("strikes is %d, want 1 to %d", r.Strikes, bezoar.MaxEvidence))
	}
	return errors.Join(errs...)
}

// Config bounds a [State]. The zero value is useful.
type Config struct {
	Rule Rule // for work that brings none of its own

	MaxCases  int // suspects and convicts held; default 65,536
	MaxProven int // fingerprints whose successes are remembered; default 65,536
	MaxGroups int // shapes and clients watched; default 4,096

	Young     time.Duration // attempts younger than this draw double blame; default 250 ms
	GateShare float64       // part of the fleet whose disjoint crashes close the gate; default 0.3
	GateHold  time.Duration // how long the gate stays closed after the last sign; default 10 s
	Learning  time.Duration // after the start every shape counts as seen; default 60 s
	CanaryMax int           // unseen shapes in flight before they overflow to the fleet; default 8

	// Window is how long a worker must outlive its answer for it to count as a
	// success, unless the work has proven itself before; default 1 s, five times as
	// long after deaths that nothing explains. Negative: answers count at once.
	Window time.Duration

	Rand *rand.Rand // jitter and sampling; default a generator seeded with 1
}

// WithDefaults returns c with every zero field set to its default.
func (c Config) WithDefaults() Config {
	c.Rule = c.Rule.WithDefaults()
	set := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	set(&c.MaxCases, 1<<16)
	set(&c.MaxProven, 1<<16)
	set(&c.MaxGroups, 1<<12)
	set(&c.CanaryMax, 8)
	if c.Young == 0 {
		c.Young = 250 * time.Millisecond
	}
	if c.GateShare == 0 {
		c.GateShare = 0.3
	}
	if c.GateHold == 0 {
		c.GateHold = 10 * time.Second
	}
	if c.Learning == 0 {
		c.Learning = time.Minute
	}
	if c.Window == 0 {
		c.Window = time.Second
	}
	if c.Rand == nil {
		c.Rand = rand.New(rand.NewPCG(1, 1))
	}
	return c
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	errs := []error{c.Rule.Validate()}
	bound := func(name string, v int) {
		if v < 16 || v > 1<<24 {
			errs = append(errs, fmt.Errorf("%s is %d, want 16 to %d", name, v, 1<<24))
		}
	}
	bound("MaxCases", c.MaxCases)
	bound("MaxProven", c.MaxProven)
	bound("MaxGroups", c.MaxGroups)
	if c.GateShare < 0 || c.GateShare > 1 {
		errs = append(errs, fmt.Errorf("GateShare is %g, want 0 to 1", c.GateShare))
	}
	if c.CanaryMax < 0 {
		errs = append(errs, fmt.Errorf("CanaryMax is %d, want 0 or more", c.CanaryMax))
	}
	return errors.Join(errs...)
}

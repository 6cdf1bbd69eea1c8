package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/openloop"
)

// A bound is what a row must become.
type bound struct {
	text      string
	deaths    int           // at most; negative for no bound
	good      float64       // percent of the innocents
	target    float64       // percent of the innocents of the class target
	slowest   time.Duration // of the innocents; 0 for no bound
	contained bool          // no pill is answered 2xx in the last third, but for probes
	refused   bool          // every pill of the last third is refused, but for probes
	found     bool          // a pill is convicted
	connect   time.Duration // the slowest of the class target; 0 for no bound
}

// missed says which parts of the bound a run has missed.
func (b bound) missed(r *Run) []string {
	var out []string
	miss := func(wrong bool, format string, args ...any) {
		if wrong {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	miss(b.deaths >= 0 && r.Lost > b.deaths, "%d deaths", r.Lost)
	miss(r.good("", b.good) < b.good, "good %.2f %%", r.good("", b.good))
	miss(r.good("target", b.target) < b.target, "target %.2f %%", r.good("target", b.target))
	// What is unsafe and under way in a worker that dies is lost. It is seldom more
	// than one for each death.
	miss(b.good == 100 && r.Cut > r.Lost, "%d unsafe requests cut short by %d deaths", r.Cut, r.Lost)
	miss(b.slowest > 0 && r.Slowest >= openloop.MS(b.slowest), "slowest %.1f s", r.Slowest/1000)
	if c := r.Classes["target"]; b.connect > 0 && c != nil {
		miss(c.Slowest >= openloop.MS(b.connect), "slowest target %.1f s", c.Slowest/1000)
	}
	if r.Evidence != nil {
		miss(len(r.Evidence.Wrong) > 0, "%d convicted wrongly", len(r.Evidence.Wrong))
	}
	miss(b.found && r.Evidence != nil && r.Evidence.Convicts == 0, "nobody found")
	for said, n := range r.LastPills {
		if said == "200" && r.Evidence != nil && n <= r.Evidence.Convicts {
			continue // a first term ends after about a minute, and one copy of each convict is then tried again
		}
		miss(b.contained && said == "200", "%d late pills answered", n)
		miss(b.refused && !strings.HasPrefix(said, "503") && !strings.HasPrefix(said, "429"), "%d late pills: %s", n, said)
	}
	return append(out, r.Faults...)
}

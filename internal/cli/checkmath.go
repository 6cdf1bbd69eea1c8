package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/budget"
	"github.com/bezoar-dev/bezoar/policy/shard"
)

// worstCase is the worst case of one request of a route, and of the load on its workers, when every attempt fails.
type worstCase struct {
	Route    string            `json:"route"`
	Fleet    string            `json:"fleet"`
	Attempts int               `json:"attempts"`       // when each ends its worker
	Living   int               `json:"living"`         // while workers live
	Timeout  adminapi.Duration `json:"timeout"`        // of each
	Waits    adminapi.Duration `json:"waits"`          // of all kinds together
	Total    adminapi.Duration `json:"total"`          // the last moment without an answer
	Ratio    float64           `json:"extra_ratio"`    // deliveries beyond the work: this share of it …
	Floor    float64           `json:"extra_a_second"` // … and so many a second

	// These are what all routes of the fleet may add together.
	FleetRatio float64 `json:"fleet_extra_ratio"`
	FleetFloor float64 `json:"fleet_extra_a_second"`

	text string
}

// worstCases computes the worst case of the retries of each route.
func worstCases(cfg config.Config) []worstCase {
	out := []worstCase{}
	for _, r := range cfg.Routes {
		if r.Fleet == "" {
			continue // a queue does the work later
		}
		f := cfg.Fleets[r.Fleet]
		w := dispatch.RetryBoundOf(retryOf(r.Retry), max(f.Replicas, len(f.Workers)), r.Timeout)
		out = append(out, worstCase{
			Route: matchText(r.Match), Fleet: r.Fleet, Attempts: w.Attempts, Living: w.Living,
			Timeout: adminapi.Duration(w.Timeout), Waits: adminapi.Duration(w.Waits), Total: adminapi.Duration(w.Total),
			Ratio: exact(w.Ratio), Floor: exact(w.Floor), FleetRatio: float64(f.Retries.Ratio), FleetFloor: float64(f.Retries.Floor),
			text: w.String(),
		})
	}
	return out
}

// none is a budget of nothing. It is not 0, because 0 means the default.
const none = 1e-9

// exact returns x, or 0 for none.
func exact(x float64) float64 {
	if x <= none {
		return 0
	}
	return x
}

// retryOf returns a route's retry settings as the gateway gets them.
func retryOf(r config.Retry) dispatch.RetryConfig {
	return dispatch.RetryConfig{
		Attempts: r.Attempts,
		Budget:   budget.Config{Ratio: max(float64(r.Budget), none), Floor: max(float64(r.BudgetFloor), none)},
		Backoff:  backoff.Config{Base: r.BaseDelay, Cap: r.Cap},
	}
}

func matchText(m config.Match) string {
	return strings.TrimSpace(strings.Join(m.Methods, "|") + " " + m.Host + m.Path)
}

// overlap describes how many workers two callers of a fleet share.
type overlap struct {
	Fleet   string    `json:"fleet"`
	Workers int       `json:"workers"`
	Size    int       `json:"size,omitempty"`   // workers of each caller; 0: there are cells
	Cells   int       `json:"cells,omitempty"`  // 0: there are shards
	Shards  float64   `json:"shards,omitempty"` // different ones
	Shared  []float64 `json:"shared,omitempty"` // by how many workers: the probability that two callers share them
	Whole   float64   `json:"whole"`            // the probability that they share all
}

// overlaps computes the overlap of every fleet with shards.
func overlaps(cfg config.Config) []overlap {
	out := []overlap{}
	for _, name := range slices.Sorted(maps.Keys(cfg.Fleets)) {
		f := cfg.Fleets[name]
		if f.Shard == nil {
			continue
		}
		o := overlap{Fleet: name, Workers: max(f.Replicas, len(f.Workers)), Size: f.Shard.Size, Cells: f.Shard.Cells}
		if o.Cells > 0 {
			o.Whole = 1 / float64(o.Cells)
		} else {
			if o.Size == 0 {
				o.Size = shard.Default(o.Workers)
			}
			t := shard.Overlap(o.Workers, o.Size)
			o.Shards, o.Shared, o.Whole = t.Shards(), t.Shared, t.Whole()
		}
		out = append(out, o)
	}
	return out
}

// lines describes it for people.
func (o overlap) lines() []string {
	if o.Cells > 0 {
		return []string{
			fmt.Sprintf("fleet %s: %d workers in %d cells", clean(o.Fleet), o.Workers, o.Cells),
			"two callers share their whole cell with probability " + chance(o.Whole),
		}
	}
	out := []string{fmt.Sprintf("fleet %s: %d workers, shards of %d: %.0f different ones", clean(o.Fleet), o.Workers, o.Size, o.Shards)}
	for j := o.Size; j >= 0; j-- {
		what := fmt.Sprintf("%d of %d", j, o.Size)
		switch j {
		case o.Size:
			what = "their whole shard"
		case 0:
			what = "nothing"
		}
		out = append(out, "two callers share "+what+" with probability "+chance(o.Shared[j]))
	}
	return out
}

func chance(p float64) string {
	text := fmt.Sprintf("%.3g %%", 100*p)
	if p > 0 && p < 0.1 {
		text += fmt.Sprintf(" (1 in %.0f)", 1/p)
	}
	return text
}

// writeFleetBudgets prints what the routes of a fleet may add together, if that is less than the sum of what each may add.
func writeFleetBudgets(p *printer, worst []worstCase) {
	sums := map[string]worstCase{}
	for _, w := range worst {
		w.Ratio, w.Floor = max(w.Ratio, sums[w.Fleet].Ratio), w.Floor+sums[w.Fleet].Floor
		sums[w.Fleet] = w
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if w := sums[name]; w.FleetRatio < w.Ratio || w.FleetFloor < w.Floor {
			p.printf("\nfleet %s: all its routes together at most %.3g %% and %.0f/s more deliveries\n", clean(name), 100*w.FleetRatio, w.FleetFloor)
		}
	}
}

// writeArithmetic prints the worst case of retries and the overlap of shards.
func writeArithmetic(p *printer, worst []worstCase, shared []overlap) {
	if len(worst) > 0 {
		p.printf("\n")
		t := table{head: []string{"ROUTE", "FLEET", "WORST CASE OF RETRIES"}}
		for _, w := range worst {
			t.add(plain(w.Route), plain(w.Fleet), plain(w.text))
		}
		t.write(p, "")
		writeFleetBudgets(p, worst)
	}
	for _, o := range shared {
		p.printf("\n")
		for i, l := range o.lines() {
			if i > 0 {
				l = "  " + l
			}
			p.printf("%s\n", l)
		}
	}
}

package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/dispatch"
	"github.com/bezoar-dev/bezoar/internal/adminapi"
	"github.com/bezoar-dev/bezoar/internal/config"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/budget"
	"github.com/bezoar-dev/bezoar/policy/shard"
)

// worstCase is the worst that can become of one request of a route, and of the
// load on its workers, when every attempt fails.
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
	text     string
}

// worstCases computes what the retries of each route can lead to.
func worstCases(cfg config.Config) []worstCase {
	out := []worstCase{}
	for _, r := range cfg.Routes {
		if r.Fleet == "" {
			continue // done later, by a queue
		}
		f := cfg.Fleets[r.Fleet]
		w := dispatch.WorstCase(retryOf(r.Retry), max(f.Replicas, len(f.Workers)), r.Timeout)
		out = append(out, worstCase{
			Route: matchText(r.Match), Fleet: r.Fleet, Attempts: w.Attempts, Living: w.Living,
			Timeout: adminapi.Duration(w.Timeout), Waits: adminapi.Duration(w.Waits), Total: adminapi.Duration(w.Total),
			Ratio: w.Ratio, Floor: w.Floor, text: w.String(),
		})
	}
	return out
}

// retryOf says a route's retries as the gateway is told them.
func retryOf(r config.Retry) dispatch.RetryConfig {
	return dispatch.RetryConfig{
		Attempts: r.Attempts,
		Budget:   budget.Config{Ratio: float64(r.Budget), Floor: float64(r.BudgetFloor)},
		Backoff:  backoff.Config{Base: r.BaseDelay, Cap: r.Cap},
	}
}

func matchText(m config.Match) string {
	return strings.TrimSpace(strings.Join(m.Methods, "|") + " " + m.Host + m.Path)
}

// overlap says how much two callers of a fleet have in common.
type overlap struct {
	Fleet   string    `json:"fleet"`
	Workers int       `json:"workers"`
	Hand    int       `json:"hand,omitempty"`   // workers of each caller; 0: there are cells
	Cells   int       `json:"cells,omitempty"`  // 0: there are hands
	Hands   float64   `json:"hands,omitempty"`  // different ones
	Shared  []float64 `json:"shared,omitempty"` // by how many workers: the probability that two callers share them
	Whole   float64   `json:"whole"`            // the probability that they share all
}

// overlaps computes the table of every fleet with shards.
func overlaps(cfg config.Config) []overlap {
	out := []overlap{}
	for _, name := range slices.Sorted(maps.Keys(cfg.Fleets)) {
		f := cfg.Fleets[name]
		if f.Shard == nil {
			continue
		}
		o := overlap{Fleet: name, Workers: max(f.Replicas, len(f.Workers)), Hand: f.Shard.Hand, Cells: f.Shard.Cells}
		if o.Cells > 0 {
			o.Whole = 1 / float64(o.Cells)
		} else {
			if o.Hand == 0 {
				o.Hand = shard.Default(o.Workers)
			}
			t := shard.Overlap(o.Workers, o.Hand)
			o.Hands, o.Shared, o.Whole = t.Hands(), t.Shared, t.Whole()
		}
		out = append(out, o)
	}
	return out
}

// lines says it in words.
func (o overlap) lines() []string {
	if o.Cells > 0 {
		return []string{
			fmt.Sprintf("fleet %s: %d workers in %d cells", clean(o.Fleet), o.Workers, o.Cells),
			"two callers share their whole cell with probability " + chance(o.Whole),
		}
	}
	out := []string{fmt.Sprintf("fleet %s: %d workers, hands of %d: %.0f different ones", clean(o.Fleet), o.Workers, o.Hand, o.Hands)}
	for j := o.Hand; j >= 0; j-- {
		what := fmt.Sprintf("%d of %d", j, o.Hand)
		switch j {
		case o.Hand:
			what = "their whole hand"
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

// writeArithmetic says what the settings can lead to.
func writeArithmetic(p *printer, worst []worstCase, shared []overlap) {
	if len(worst) > 0 {
		p.printf("\n")
		t := table{head: []string{"ROUTE", "FLEET", "WORST CASE OF RETRIES"}}
		for _, w := range worst {
			t.add(plain(w.Route), plain(w.Fleet), plain(w.text))
		}
		t.write(p, "")
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

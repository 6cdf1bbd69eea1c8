package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// A Report is what was measured.
type Report struct {
	Nodes  int      `json:"nodes"`
	Rate   int      `json:"rate"` // of each limited caller, a second at all nodes together
	Cores  int      `json:"cores"`
	Load   float64  `json:"load"` // of the machine afterwards: the average of a minute
	Phases []Phase  `json:"phases"`
	Spread []Spread `json:"spread"`
	// What the node that was cut off did meanwhile.
	Refused int `json:"refused_what_it_knew"` // copies of a pill convicted before
	Let     int `json:"let_through"`          // and those that it did not refuse
	Lost    int `json:"workers_lost_later"`   // to work convicted elsewhere during the cut
}

// A Phase is before, during or after the cut.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Good    count   `json:"good"`
	Quotas  []Quota `json:"quotas"`
}

// A Quota is what one limited caller got.
type Quota struct {
	Caller string `json:"caller"`
	count
	Limit float64 `json:"limit"` // what one node alone could let through
	Bound float64 `json:"bound"` // what is promised, see bound
}

// A Spread is how long something that happened at one node took to hold at
// another.
type Spread struct {
	What string  `json:"what"` // verdict, version, breaker
	When string  `json:"when"` // phase; mended: counted from the end of the cut
	MS   float64 `json:"ms"`
}

const (
	interval = 0.2  // seconds between two exchanges of a node with the store
	trip     = 0.02 // and what one takes here at most
)

// bound is what docs/rate-limits.md promises of nodes that each get so many
// requests a second. groups do not hear of each other; together nodes are in them.
// alone is what one node alone lets through.
func bound(alone, perNode float64, nodes, groups int) float64 {
	return float64(groups)*alone + float64(nodes-groups)*perNode*2*(interval+trip)
}

// alone is what one node alone lets through in a time: of a bucket, or of a window.
func alone(caller string, rate, seconds float64) float64 {
	if caller == "bucket" {
		return rate * (seconds + 1) // the burst is a second's worth
	}
	return rate * (seconds + window.Seconds())
}

// Kept says whether every promise was kept.
func (r *Report) Kept() bool { return len(r.Broken()) == 0 }

// soon is what a verdict may take to reach the other nodes.
const soon = 100 * time.Millisecond

// Broken lists the promises that were not kept.
func (r *Report) Broken() (out []string) {
	for _, p := range r.Phases {
		if p.Good.Served != p.Good.Sent {
			out = append(out, fmt.Sprintf("%s: of %d good requests %d were served", p.Name, p.Good.Sent, p.Good.Served))
		}
		for _, q := range p.Quotas {
			if float64(q.Served) > q.Bound || q.Other > 0 {
				out = append(out, fmt.Sprintf("%s: %s got %d of at most %.0f, %d neither served nor limited", p.Name, q.Caller, q.Served, q.Bound, q.Other))
			}
		}
	}
	for _, s := range r.Spread {
		if s.What == "verdict" && s.When != mended && s.MS > ms(soon) {
			out = append(out, fmt.Sprintf("%s: a verdict took %.0f ms", s.When, s.MS))
		}
	}
	if r.Let > 0 || r.Lost > 0 || r.Refused == 0 {
		out = append(out, fmt.Sprintf("the node that was cut off refused %d pills that it knew and let %d through; afterwards %d workers died of what others had convicted", r.Refused, r.Let, r.Lost))
	}
	return out
}

func ms(d time.Duration) float64 { return math.Round(float64(d.Microseconds())/100) / 10 }

// MarshalJSON adds the promises that were broken.
func (r *Report) MarshalJSON() ([]byte, error) {
	type fields Report
	return json.Marshal(struct {
		*fields
		Broken []string `json:"broken"`
	}{(*fields)(r), r.Broken()})
}

// WriteTable writes the report for people.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d nodes, one PostgreSQL; callers limited to %d/s at all nodes together; %d cores, load %.1f\n\n", r.Nodes, r.Rate, r.Cores, r.Load)
	fmt.Fprintf(&b, "%-8s %8s  %-16s  %-7s %7s %7s  %-18s %8s %8s %7s\n", "", "seconds", "good served", "caller", "sent", "served", "by node", "a limit", "bound", "a second")
	for _, p := range r.Phases {
		for i, q := range p.Quotas {
			name, seconds, good := p.Name, fmt.Sprintf("%.1f", p.Seconds), fmt.Sprintf("%d of %d", p.Good.Served, p.Good.Sent)
			if i > 0 {
				name, seconds, good = "", "", ""
			}
			fmt.Fprintf(&b, "%-8s %8s  %-16s  %-7s %7d %7d  %-18s %8.0f %8.0f %7.1f\n", name, seconds, good, q.Caller, q.Sent, q.Served,
				strings.Trim(fmt.Sprint(q.ByNode), "[]"), q.Limit, q.Bound, float64(q.Served)/p.Seconds)
		}
	}
	fmt.Fprintf(&b, "\n%-10s %-8s %4s %9s %9s\n", "reached", "", "n", "median ms", "most ms")
	for _, when := range []string{before, during, mended, after} {
		for _, what := range []string{"verdict", "version", "breaker"} {
			var all []float64
			for _, s := range r.Spread {
				if s.What == what && s.When == when {
					all = append(all, s.MS)
				}
			}
			if len(all) > 0 {
				slices.Sort(all)
				fmt.Fprintf(&b, "%-10s %-8s %4d %9.1f %9.1f\n", what, when, len(all), all[len(all)/2], all[len(all)-1])
			}
		}
	}
	fmt.Fprintf(&b, "\ncut off, the node refused %d copies of a pill that it knew, and let %d through; mended, it lost %d workers to what others had convicted\n", r.Refused, r.Let, r.Lost)
	for _, what := range r.Broken() {
		fmt.Fprintln(&b, "NOT KEPT:", what)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

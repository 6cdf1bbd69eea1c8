package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/bezoar-dev/bezoar/internal/each"
)

// A Report is what the rows came to.
type Report struct {
	Seconds float64 `json:"seconds"`
	Workers int     `json:"workers"`
	Lang    string  `json:"lang"`
	Callers string  `json:"callers"`
	Rate    int     `json:"good_per_second"`
	Rows    []Row   `json:"rows"`
	// Skipped says which proxies were left out, and why.
	Skipped []string `json:"skipped,omitempty"`
}

// A Row is one attack on one proxy.
type Row struct {
	Name  string `json:"name"`
	What  string `json:"what"`
	Bound string `json:"bound"`
	Worst *Run   `json:"worst"`
	Runs  []*Run `json:"runs"`
}

func newReport(cfg Config) *Report {
	return &Report{
		Seconds: cfg.Length.Seconds(), Workers: cfg.Workers, Lang: cfg.Lang, Callers: cfg.Callers, Rate: cfg.Rate,
	}
}

// met reports whether Bezoar met every bound.
func (r *Report) met() bool {
	return !slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Worst.Proxy == bezoar && !row.Worst.Met })
}

// WriteTable writes the report for people, as a table of Markdown.
func (r *Report) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "%d %s workers, %d good requests/s, attacked for %gs, callers told apart: %s\n\n",
		r.Workers, r.Lang, r.Rate, r.Seconds, r.Callers)
	out := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	line := func(cells ...string) { fmt.Fprintln(out, "| "+strings.Join(cells, "\t| ")+"\t|") }
	line("row", "proxy", "workers lost", "good %", "GET", "POST", "refused", "cut", "slowest ms", "p50", "p99", "convicted", "bound", "")
	line(slices.Repeat([]string{"---"}, 14)...)
	for _, row := range r.Rows {
		n := row.Worst
		verdict := "met"
		if !n.Met {
			verdict = "MISSED: " + strings.Join(n.Missed, ", ")
		}
		line(row.Name, n.Proxy, n.losses(), fmt.Sprintf("%.2f", n.GoodPercent), fmt.Sprintf("%.2f", n.GetPercent),
			fmt.Sprintf("%.2f", n.PostPercent), n.refusedBy(), fmt.Sprint(n.Cut), fmt.Sprintf("%.0f", n.Slowest),
			fmt.Sprintf("%.0f", n.P50), fmt.Sprintf("%.0f", n.P99), n.convicted(), row.Bound, verdict)
	}
	for _, why := range r.Skipped {
		fmt.Fprintln(out, "\n"+why)
	}
	return out.Flush()
}

// losses says how many workers died, and what Bezoar says when it differs.
func (r *Run) losses() string {
	if r.LostByAPI >= 0 && r.LostByAPI != r.Lost {
		return fmt.Sprintf("%d (API: %d)", r.Lost, r.LostByAPI)
	}
	return fmt.Sprint(r.Lost)
}

// refusedBy says how many innocents were refused, by which rule.
func (r *Run) refusedBy() string {
	if len(r.Refused) == 0 {
		return "0"
	}
	return tell(r.Refused)
}

// convicted says how many convicts there are, and how many of them wrongly.
func (r *Run) convicted() string {
	e := r.Evidence
	switch {
	case e == nil:
		return "–"
	case e.Convicts == 0:
		return "0"
	case len(e.Wrong) > 0:
		return fmt.Sprintf("%d, %d WRONG", e.Convicts, len(e.Wrong))
	}
	return fmt.Sprintf("%d right", e.Convicts)
}

// summary is one line for people who wait.
func (r *Run) summary() string {
	met := "met"
	if !r.Met {
		met = "MISSED " + strings.Join(r.Missed, ", ")
	}
	return fmt.Sprintf("%s: %s lost of %d, good %.2f %% (GET %.2f, POST %.2f), refused %s, failed %s, cut %d, slowest %.0f ms, p99 %.0f, pills %d: %s; convicts %s; rig %.0f ms late; %s",
		r.Proxy, r.losses(), r.Started, r.GoodPercent, r.GetPercent, r.PostPercent, r.refusedBy(), tell(r.Failed), r.Cut, r.Slowest, r.P99,
		r.Pills, tell(r.PillsSaid), r.convicted(), r.LateMS, met)
}

// tell writes counts, the most frequent first.
func tell(counts map[string]int) string {
	names := slices.Sorted(maps.Keys(counts))
	slices.SortStableFunc(names, func(a, b string) int { return counts[b] - counts[a] })
	parts := each.Of(names, func(name string) string { return fmt.Sprintf("%d × %s", counts[name], name) })
	return cmp.Or(strings.Join(parts, ", "), "none")
}

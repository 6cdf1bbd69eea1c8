package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/rig"
	"github.com/bezoar-dev/bezoar/internal/each"
)

// Report is what came out.
type Report struct {
	Dagu   string `json:"dagu"` // version
	Rounds int    `json:"rounds"`
	Slots  int    `json:"slots"`
	Rows   []Row  `json:"rows"`
}

// Row is one graph run in one way: medians, and ratios of the same round.
type Row struct {
	Way    string `json:"way"`
	Graph  string `json:"graph"`
	What   string `json:"what"`
	Tasks  int    `json:"tasks"`
	Bezoar Time   `json:"bezoar"`
	Dagu   Time   `json:"dagu"`
	Ratio  Ratio  `json:"wall_ratio"` // Bezoar's wall time divided by dagu's
	CPU    Ratio  `json:"cpu_ratio"`  // 0 with a server, whose runs are processes of their own in one program and not in the other
}

// Time is the median time of a run in milliseconds.
type Time struct {
	Wall float64 `json:"wall_ms"`
	CPU  float64 `json:"cpu_ms"`
}

// Ratio is a ratio of two samples of one round.
type Ratio struct {
	Median float64 `json:"median"`
	Worst  float64 `json:"worst"`
}

func newRow(g graph, way string, samples map[string][]sample) Row {
	ours, theirs := samples[bezoar], samples[dagu]
	wall := func(s sample) time.Duration { return s.wall }
	cpu := func(s sample) time.Duration { return s.cpu }
	return Row{
		Way: way, Graph: g.name, What: g.what, Tasks: len(g.tasks),
		Bezoar: Time{median(ours, wall), median(ours, cpu)}, Dagu: Time{median(theirs, wall), median(theirs, cpu)},
		Ratio: ratios(ours, theirs, wall), CPU: ratios(ours, theirs, cpu),
	}
}

func median(all []sample, of func(sample) time.Duration) float64 {
	return rig.Median(each.Of(all, func(s sample) float64 { return of(s).Seconds() * 1e3 }))
}

func ratios(ours, theirs []sample, of func(sample) time.Duration) Ratio {
	var v []float64
	for i := range ours {
		if of(theirs[i]) > 0 {
			v = append(v, float64(of(ours[i]))/float64(of(theirs[i])))
		}
	}
	if len(v) == 0 {
		return Ratio{}
	}
	return Ratio{rig.Median(v), slices.Max(v)}
}

// Worst returns the highest median ratio of wall times.
func (r *Report) Worst() (worst float64) {
	for _, row := range r.Rows {
		worst = max(worst, row.Ratio.Median)
	}
	return worst
}

// WriteTable writes the report for people.
func (r *Report) WriteTable(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "way\tgraph\ttasks\tbezoar, ms\tdagu, ms\tratio\tworst\tCPU of bezoar, ms\tof dagu, ms\tratio\tworst\t")
	for _, row := range r.Rows {
		fmt.Fprintf(out, "%s\t%s\t%d\t%.0f\t%.0f\t%.2f\t%.2f\t", row.Way, row.Graph, row.Tasks, row.Bezoar.Wall, row.Dagu.Wall, row.Ratio.Median, row.Ratio.Worst)
		if row.CPU.Median == 0 {
			fmt.Fprint(out, "–\t–\t–\t–\t\n")
			continue
		}
		fmt.Fprintf(out, "%.0f\t%.0f\t%.2f\t%.2f\t\n", row.Bezoar.CPU, row.Dagu.CPU, row.CPU.Median, row.CPU.Worst)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nMedians of %d rounds, %d tasks at once, dagu %s. Every task ran exactly once, after the tasks that it needs.\n", r.Rounds, r.Slots, r.Dagu)
	return err
}

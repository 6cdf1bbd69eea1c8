package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/rig"
	"github.com/bezoar-dev/bezoar/internal/each"
)

// A Report is what the proxies came to.
type Report struct {
	Connections int          `json:"connections"`
	Rounds      int          `json:"rounds"`
	Seconds     float64      `json:"seconds"` // of one measurement
	Distinct    int          `json:"distinct"`
	Cases       []CaseReport `json:"cases"`
}

// A CaseReport compares the proxies in one case.
type CaseReport struct {
	Name   string `json:"name"`
	What   string `json:"what"`
	Method string `json:"method,omitempty"`
	Body   int    `json:"body_bytes"`
	Answer int    `json:"answer_bytes"`
	Rows   []Row  `json:"rows"`
}

// A Row is one proxy in one case: medians of the rounds.
type Row struct {
	Proxy  string  `json:"proxy"`
	CPU    float64 `json:"cpu_us"` // user and system time per request
	CPUMin float64 `json:"cpu_us_min"`
	CPUMax float64 `json:"cpu_us_max"`
	// Ratios of the CPU time to a peer's in the same round; 0 when it was not
	// measured.
	ToNginx        float64 `json:"to_nginx"`
	ToReverseProxy float64 `json:"to_reverse_proxy"`
	ToBefore       float64 `json:"to_before,omitempty"` // to another build's
	PerSec         float64 `json:"requests_per_second"`
	P50            float64 `json:"p50_ms"`
	P99            float64 `json:"p99_ms"`
	Requests       int64   `json:"requests"` // in all rounds
	Failed         int64   `json:"failed"`   // broken off, or not answered 2xx or 3xx; counted among Requests with wrk
}

func newReport(cfg Config, samples map[key][]sample) *Report {
	r := &Report{Connections: connections, Rounds: cfg.Rounds, Seconds: cfg.Length.Seconds(), Distinct: cfg.Distinct}
	for _, c := range cfg.Cases {
		cr := CaseReport{Name: c.Name, What: c.What, Method: c.Method, Body: c.Body}
		if c.Calls == "" {
			cr.Answer = c.answer()
		}
		for _, name := range cfg.Proxies {
			mine := samples[key{c.Name, name}]
			row := newRow(name, mine)
			row.ToNginx = ratio(mine, samples[key{c.Name, nginx}])
			row.ToReverseProxy = ratio(mine, samples[key{c.Name, reverseProxy}])
			row.ToBefore = ratio(mine, samples[key{c.Name, before}])
			cr.Rows = append(cr.Rows, row)
		}
		r.Cases = append(r.Cases, cr)
	}
	return r
}

func newRow(name string, all []sample) Row {
	row := Row{Proxy: name}
	cpu := each.Of(all, func(s sample) float64 { return micros(s.cpu) })
	row.CPU, row.CPUMin, row.CPUMax = rig.Median(cpu), slices.Min(cpu), slices.Max(cpu)
	row.PerSec = math.Round(rig.Median(each.Of(all, func(s sample) float64 { return s.perSec })))
	row.P50 = rig.Median(each.Of(all, func(s sample) float64 { return micros(s.p50) / 1e3 }))
	row.P99 = rig.Median(each.Of(all, func(s sample) float64 { return micros(s.p99) / 1e3 }))
	for _, s := range all {
		row.Requests += s.requests
		row.Failed += s.failed
	}
	return row
}

// ratio is the median of the ratios within each round.
func ratio(mine, peers []sample) float64 {
	if len(peers) != len(mine) {
		return 0
	}
	ratios := make([]float64, len(mine))
	for i := range mine {
		ratios[i] = float64(mine[i].cpu) / float64(max(1, peers[i].cpu))
	}
	return math.Round(rig.Median(ratios)*1000) / 1000
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// Within reports whether Bezoar kept to goal times nginx's CPU time in every
// case. It did not when one of them was not measured.
func (r *Report) Within(goal float64) bool {
	for _, c := range r.Cases {
		i := slices.IndexFunc(c.Rows, func(row Row) bool { return row.Proxy == bezoar })
		if i < 0 || c.Rows[i].ToNginx == 0 || c.Rows[i].ToNginx > goal {
			return false
		}
	}
	return true
}

// WriteTable writes the report for people.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	for _, c := range r.Cases {
		fmt.Fprintf(&b, "%s: CPU time per request, one core, %d callers, median of %d rounds of %gs\n",
			c.What, r.Connections, r.Rounds, r.Seconds)
		fmt.Fprintf(&b, "  %-14s %8s %17s %9s %16s %9s %11s %8s %7s\n",
			"", "CPU µs", "(min–max)", "÷ nginx", "÷ ReverseProxy", "÷ before", "requests/s", "p99 ms", "failed")
		for _, row := range c.Rows {
			fmt.Fprintf(&b, "  %-14s %8.2f %17s %9s %16s %9s %11.0f %8.2f %7d\n", row.Proxy, row.CPU,
				fmt.Sprintf("(%.2f–%.2f)", row.CPUMin, row.CPUMax), times(row.ToNginx), times(row.ToReverseProxy), times(row.ToBefore),
				row.PerSec, row.P99, row.Failed)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func times(ratio float64) string {
	if ratio == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", ratio)
}

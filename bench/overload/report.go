package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/policy/shed"
)

// A Report is what the rows came to.
type Report struct {
	Workers   int     `json:"workers"`
	ServiceMS float64 `json:"service_ms"`
	Capacity  float64 `json:"capacity_per_second"` // of the bare server, measured
	Seconds   float64 `json:"seconds"`
	Rows      []Row   `json:"rows"`
	EmptyUS   float64 `json:"empty_us"` // CPU time of the server for an empty answer to an empty request
	Costs     []Cost  `json:"costs"`
}

// A Cost is the CPU time of the server for one request with a body of a size.
type Cost struct {
	KiB       int     `json:"kib"`
	ServedUS  float64 `json:"served_us"`
	RefusedUS float64 `json:"refused_us"` // the body is read and dropped by net/http
}

// A Row is one load.
type Row struct {
	Load    float64           `json:"load"` // times the capacity
	Pool    bool              `json:"pool"`
	Goodput float64           `json:"goodput"` // answers that callers got in time, by the capacity
	Tally   [shed.Tiers]Tally `json:"tally"`   // from CriticalPlus to Sheddable
}

func (r *Row) sum(capacity float64, length time.Duration) {
	served := 0
	for _, t := range r.Tally {
		served += t.Served
	}
	r.Goodput = float64(served) / (capacity * length.Seconds())
}

// WriteTable writes it for people.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "capacity %.1f/s (%d at once, %g ms each), callers give up after %v; %g s a row\n\n",
		r.Capacity, r.Workers, r.ServiceMS, patience, r.Seconds)
	fmt.Fprintf(&b, "%5s  %-5s  %8s   served of", "load", "pool", "goodput")
	for _, p := range shed.Priorities() {
		fmt.Fprintf(&b, "  %14s", p)
	}
	b.WriteByte('\n')
	for _, row := range r.Rows {
		with := "no"
		if row.Pool {
			with = "yes"
		}
		fmt.Fprintf(&b, "%5.1f  %-5s  %7.1f%%            ", row.Load, with, 100*row.Goodput)
		for _, t := range row.Tally {
			fmt.Fprintf(&b, "  %13.2f%%", math.Floor(1e4*t.Share())/100) // 100 only when it is
		}
		b.WriteByte('\n')
	}
	if len(r.Costs) > 0 {
		fmt.Fprintf(&b, "\nCPU time of the server: %.0f µs for an empty answer to an empty request\n", r.EmptyUS)
	}
	for _, c := range r.Costs {
		fmt.Fprintf(&b, "%3d KiB of JSON: %5.0f µs to serve, %3.0f µs to refuse, 1/%.1f\n", c.KiB, c.ServedUS, c.RefusedUS, c.ServedUS/c.RefusedUS)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/openloop"
)

// A Report is what the rows came to.
type Report struct {
	Pill    Pill    `json:"pill"`
	Workers int     `json:"workers"`
	Rate    int     `json:"good_per_second"`
	Seconds float64 `json:"seconds"`
	Rows    []Row   `json:"rows"`
}

// A Row is one proxy's balance.
type Row struct {
	Name        string  `json:"name"`
	GoodSent    int     `json:"good_sent"`
	GoodOK      int     `json:"good_ok"` // answered 200
	GoodPercent float64 `json:"good_percent"`
	// InnocentsRefused were answered 503. GoodFailed says what became of the
	// others: another status, a broken connection, no answer within 10 s.
	InnocentsRefused int            `json:"innocents_refused"`
	GoodFailed       map[string]int `json:"good_failed"`
	PillsSent        int            `json:"pills_sent"`
	PillsAnswered    map[string]int `json:"pills_answered"`
	WorkersLost      int            `json:"workers_lost"`
	P50              float64        `json:"p50_ms"` // of the good requests that were answered 200
	P99              float64        `json:"p99_ms"`
	// ContainedMS is the time from the first pill to the last harm: a worker
	// lost, or a good request sent that was not answered 200. It is null when
	// there was still harm in the last third of the time.
	ContainedMS *int64 `json:"contained_ms"`
}

func newReport(cfg Config) *Report {
	return &Report{Pill: cfg.Pill, Workers: cfg.Workers, Rate: cfg.Rate, Seconds: cfg.Length.Seconds()}
}

func newRow(name string, t *tally, lost int, last, end time.Time) Row {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Row{
		Name: name, GoodSent: t.sent, GoodOK: t.ok,
		GoodPercent:      openloop.Percent(t.ok, t.sent),
		InnocentsRefused: t.refused, GoodFailed: t.others,
		PillsSent: t.pills, PillsAnswered: t.pillSaid, WorkersLost: lost,
		P50: openloop.MS(openloop.Quantile(t.times, 0.50)), P99: openloop.MS(openloop.Quantile(t.times, 0.99)),
		ContainedMS: contained(t.begun, last, t.harm, end),
	}
}

func contained(first, lastLost, lastHarm, end time.Time) *int64 {
	harm := first
	for _, at := range []time.Time{lastLost, lastHarm} {
		if at.After(harm) {
			harm = at
		}
	}
	if harm.After(end.Add(-end.Sub(first) / 3)) {
		return nil
	}
	took := harm.Sub(first).Milliseconds()
	return &took
}

// WriteTable writes the report for people.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d workers restarted after 3 s, %d good requests/s for %gs, pill: %s\n", r.Workers, r.Rate, r.Seconds, r.Pill)
	fmt.Fprintf(&b, "  %-14s %9s %8s %7s %12s %12s %8s %8s %8s %10s\n",
		"", "good sent", "good 200", "pills", "workers lost", "503 to good", "failed", "p50 ms", "p99 ms", "contained")
	for _, row := range r.Rows {
		failed := 0
		for _, n := range row.GoodFailed {
			failed += n
		}
		after := "never"
		if row.ContainedMS != nil {
			after = fmt.Sprintf("%.2f s", float64(*row.ContainedMS)/1000)
		}
		fmt.Fprintf(&b, "  %-14s %9d %7.2f%% %7d %12d %12d %8d %8.1f %8.1f %10s\n", row.Name, row.GoodSent, row.GoodPercent,
			row.PillsSent, row.WorkersLost, row.InnocentsRefused, failed, row.P50, row.P99, after)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

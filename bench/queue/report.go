package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/bezoar-dev/bezoar/bench/internal/rig"
	"github.com/bezoar-dev/bezoar/internal/each"
)

// Spread is a median and what was around it.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func spread(v []float64) Spread {
	return Spread{Median: rig.Median(v), Min: slices.Min(v), Max: slices.Max(v)}
}

// Report is what came out.
type Report struct {
	Machine    string       `json:"machine"`
	Rounds     int          `json:"rounds"`
	Bytes      int          `json:"bytes"`
	Batch      int          `json:"batch"`
	Subjects   []Subject    `json:"subjects"`
	Absent     []Absent     `json:"absent"`
	Throughput []Throughput `json:"throughput"`
	Ratios     []Ratio      `json:"ratios"`
	Depths     []Depth      `json:"depths"`
}

// Absent is a subject that this machine cannot run.
type Absent struct {
	Subject string `json:"subject"`
	Why     string `json:"why"`
}

// Throughput is that of one subject, in messages per second.
type Throughput struct {
	Subject string `json:"subject"`
	Workers int    `json:"workers"`
	Waiting int    `json:"waiting"` // at most: all were sent before the first was received
	Send    Spread `json:"send"`
	Drain   Spread `json:"receive_delete"`
	Total   Spread `json:"total"` // each message sent, received and deleted
}

// Ratio is how many times faster ours was, of the totals of the same round.
type Ratio struct {
	Ours     string  `json:"ours"`
	Peer     string  `json:"peer"`
	Workers  int     `json:"workers"`
	Waiting  int     `json:"waiting"`
	Ratio    Spread  `json:"ratio"`
	Required float64 `json:"at_least,omitempty"` // 0: for information
	Holds    *bool   `json:"holds,omitempty"`
}

func newReport(c Config, all []*samples, absent map[string]string) *Report {
	r := &Report{
		Machine: fmt.Sprintf("%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()),
		Rounds:  c.Rounds, Bytes: bodyBytes, Batch: batch, Subjects: c.Subjects,
		Absent: []Absent{}, Throughput: []Throughput{}, Ratios: []Ratio{}, Depths: []Depth{},
	}
	for _, s := range c.Subjects {
		if why := absent[s.Name]; why != "" {
			r.Absent = append(r.Absent, Absent{s.Name, why})
		}
	}
	for _, s := range all {
		column := func(of func(sample) float64) Spread {
			return spread(each.Of(s.rounds, of))
		}
		r.Throughput = append(r.Throughput, Throughput{
			Subject: s.subject.Name, Workers: s.workers, Waiting: s.messages,
			Send:  column(func(s sample) float64 { return s.send }),
			Drain: column(func(s sample) float64 { return s.drain }),
			Total: column(func(s sample) float64 { return s.total }),
		})
	}
	for _, rival := range rivals() {
		for _, ours := range all {
			if ratio, ok := compare(all, rival, ours); ok {
				r.Ratios = append(r.Ratios, ratio)
			}
		}
	}
	return r
}

// compare finds the peer's samples under the same load.
func compare(all []*samples, rival Rival, ours *samples) (Ratio, bool) {
	i := slices.IndexFunc(all, func(s *samples) bool {
		return s.subject.Name == rival.Peer && s.workers == ours.workers && s.messages == ours.messages
	})
	if ours.subject.Name != rival.Ours || i < 0 || len(ours.rounds) != len(all[i].rounds) {
		return Ratio{}, false
	}
	times := make([]float64, len(ours.rounds))
	for n := range times {
		times[n] = ours.rounds[n].total / all[i].rounds[n].total
	}
	r := Ratio{Ours: rival.Ours, Peer: rival.Peer, Workers: ours.workers, Waiting: ours.messages, Ratio: spread(times), Required: rival.Required}
	if rival.Required > 0 {
		holds := r.Ratio.Median >= rival.Required
		r.Holds = &holds
	}
	return r, true
}

// WriteTable writes it for people.
func (r *Report) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "%s; %d rounds; messages of %d B, all sent, then all received and deleted, in batches of %d; median (min–max)\n\n",
		r.Machine, r.Rounds, r.Bytes, r.Batch)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "queue\tworkers\tmessages\tmessages/s\t\tsend/s\treceive+delete/s")
	for _, s := range r.Throughput {
		fmt.Fprintf(t, "%s\t%d\t%d\t%.0f\t(%.0f–%.0f)\t%.0f\t%.0f\n",
			s.Subject, s.Workers, s.Waiting, s.Total.Median, s.Total.Min, s.Total.Max, s.Send.Median, s.Drain.Median)
	}
	if len(r.Ratios) > 0 {
		fmt.Fprintln(t, "\t\t\t\t\t\t\nratio, same round\tworkers\tmessages\ttimes\t\twanted\tholds")
	}
	for _, x := range r.Ratios {
		wanted, holds := "–", "–"
		if x.Holds != nil {
			wanted, holds = "≥ "+strconv.FormatFloat(x.Required, 'g', -1, 64), verdict(*x.Holds)
		}
		fmt.Fprintf(t, "%s / %s\t%d\t%d\t%.2f\t(%.2f–%.2f)\t%s\t%s\n",
			x.Ours, x.Peer, x.Workers, x.Waiting, x.Ratio.Median, x.Ratio.Min, x.Ratio.Max, wanted, holds)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, d := range r.Depths {
		fmt.Fprintf(w, "\n%s, receive of %d: empty p50 %.2f ms, p99 %.2f ms; behind %d messages p50 %.2f ms, p99 %.2f ms; p99 %.2f times, wanted ≤ %g: %s\n",
			d.Subject, batch, d.Empty.P50, d.Empty.P99, d.Waiting, d.Deep.P50, d.Deep.P99, d.Ratio, d.Required, verdict(d.Holds))
		l := d.Letters
		fmt.Fprintf(w, "%s, %d groups of %d dead letters: median %.1f ms, at most %.1f ms; wanted ≤ %g ms: %s\n",
			d.Subject, l.Groups, l.Letters, l.Median, l.Max, l.Required, verdict(l.Holds))
	}
	fmt.Fprintln(w)
	for _, s := range r.Subjects {
		fmt.Fprintf(w, "%s: %s\n", s.Name, s.Settings)
		if s.Advice != "" {
			fmt.Fprintf(w, "    its documentation: %s\n", s.Advice)
		}
	}
	for _, a := range r.Absent {
		fmt.Fprintf(w, "%s: %s\n", a.Subject, a.Why)
	}
	return nil
}

func verdict(holds bool) string {
	if holds {
		return "yes"
	}
	return "NO"
}

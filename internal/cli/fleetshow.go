package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

type fleetShow struct {
	remote
	Name string `arg:"" help:"The fleet."`
}

func (c *fleetShow) Run(s *session, api *adminapi.Client) error {
	fleets, err := api.Fleets(s)
	if err != nil {
		return err
	}
	for _, f := range fleets {
		if f.Name == c.Name {
			return s.show(f, nil, func() { writeWholeFleet(s.out, s.now(), f) })
		}
	}
	return exitf(exitNotFound, "there is no fleet %s", clean(c.Name))
}

func writeWholeFleet(p *printer, now time.Time, f adminapi.Fleet) {
	writeFleet(p, now, f)
	writeOpinions(p, now, f)
	writeClasses(p, f.Pool)
}

// writeOpinions prints how the fleet judges each worker.
func writeOpinions(p *printer, now time.Time, f adminapi.Fleet) {
	p.printf("\n")
	t := table{head: []string{"WORKER", ">SHARE", ">RESULTS", ">FAILED", ">LATENCY", "HEALTH"}}
	for _, w := range f.Workers {
		latency := "–"
		if w.Latency > 0 {
			latency = time.Duration(w.Latency).Round(time.Microsecond).String()
		}
		t.add(plain(w.Name), plain(fmt.Sprintf("%.0f %%", 100*w.Share)), number(int64(w.Results)), number(int64(w.Failed)),
			plain(latency), opinion(now, w))
	}
	t.write(p, "  ")
	if f.Ejections > 0 {
		p.printf("  %s\n", p.paint(dim, count(int64(f.Ejections), "ejection", "ejections")+" so far"))
	}
}

func opinion(now time.Time, w adminapi.Worker) cell {
	h := w.Held
	switch {
	case h == nil && w.Weight != nil:
		return cell{fmt.Sprintf("healthy, weight %d", *w.Weight), green}
	case h == nil:
		return cell{"healthy", green}
	}
	var parts []string
	if h.Unhealthy != "" {
		parts = append(parts, "unhealthy: "+h.Unhealthy)
	}
	if h.Silent {
		parts = append(parts, "silent: it has work and answers nothing")
	}
	if !h.Ejected.IsZero() {
		text := fmt.Sprintf("ejected until %s (%s)", clock(now, h.Ejected), until(now, h.Ejected))
		if h.Ejections > 1 {
			text += ", " + times(int64(h.Ejections)) + " in a row"
		}
		parts = append(parts, text)
	}
	style := red
	if !h.Out {
		parts, style = append(parts, "ignored in panic mode"), yellow
	}
	return cell{clean(strings.Join(parts, "; ")), style}
}

// writeClasses prints what the pool has admitted and refused.
func writeClasses(p *printer, l *adminapi.Pool) {
	if l == nil {
		return
	}
	p.printf("\n")
	t := table{head: []string{"PRIORITY", ">ADMITTED", ">WAITED", ">SHED", ">CONCURRENCY", ">QUEUE", ">DEADLINE", ">PER CALLER", ">STREAMS"}}
	for _, c := range l.Classes {
		t.add(plain(c.Priority), number(int64(c.Admitted)), number(int64(c.Waited)), number(int64(c.Shed)), number(int64(c.Rules["concurrency"])),
			number(int64(c.Rules["queue"])), number(int64(c.Rules["deadline"])), number(int64(c.Rules["per_caller"])),
			number(int64(c.Rules["streams"])))
	}
	t.write(p, "  ")
}

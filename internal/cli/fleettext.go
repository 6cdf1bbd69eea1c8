package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

func writeFleet(p *printer, now time.Time, f adminapi.Fleet) {
	ready := 0
	for _, w := range f.Workers {
		if w.State == "ready" {
			ready++
		}
	}
	style := map[string]string{"ok": green, "degraded": yellow, "panic": red, "down": red}[f.State]
	p.printf("%s  %s  %d of %d workers ready, %s\n", p.paint(bold, clean(f.Name)), p.paint(style, clean(f.State)),
		ready, len(f.Workers), laneText(f.Lane))
	writeProtection(p, now, f)
	t := table{head: []string{"WORKER", "STATE", "ADDRESS", ">PID", ">EPOCH", "SINCE", ">IN FLIGHT", ">RESTARTS", "LAST END"}}
	for _, w := range f.Workers {
		t.add(plain(w.Name), workerState(w), plain(w.Addr), plain(pid(w.PID)), plain(fmt.Sprint(w.Epoch)), plain(sinceText(now, w.Since)),
			plain(fmt.Sprint(w.InFlight)), plain(fmt.Sprint(w.Restarts)), plain(endText(now, w.LastEnd)))
	}
	t.write(p, "  ")
	if len(f.Counters) == 0 {
		return
	}
	var parts []string
	for name, n := range f.Counters {
		parts = append(parts, fmt.Sprintf("%s %d", clean(name), n))
	}
	slices.Sort(parts)
	for _, line := range wrap(strings.Join(parts, ", "), p.columns()-2) {
		p.printf("  %s\n", p.paint(dim, line))
	}
}

func laneText(l adminapi.Lane) string {
	switch {
	case l.Worker != "":
		return fmt.Sprintf("lane %s, %d waiting", clean(l.Worker), l.Waiting)
	case !l.Open:
		return fmt.Sprintf("no lane: too few are healthy, %d waiting", l.Waiting)
	}
	return "lane free"
}

func workerState(w adminapi.Worker) cell {
	text := w.State
	switch h := w.Held; {
	case w.Lane:
		text += " (lane)"
	case h != nil && !h.Out:
		text += " (ignored: " + heldText(h) + ")"
	case h != nil:
		return cell{clean("held out: " + heldText(h)), red}
	case w.Weight != nil && *w.Weight == 0 && w.State == "draining":
		text += " (weight 0)"
	}
	style := map[string]string{"ready": green, "starting": cyan, "draining": yellow, "down": red}[w.State]
	return cell{clean(text), style}
}

func pid(n int) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprint(n)
}

func heldText(h *adminapi.Held) string {
	switch {
	case h.Unhealthy != "":
		return "unhealthy"
	case h.Silent:
		return "silent"
	}
	return "ejected"
}

// writeProtection prints the state of the whole fleet. Panic comes first, because it makes health checks meaningless.
func writeProtection(p *printer, now time.Time, f adminapi.Fleet) {
	if m := f.Panic; m != nil {
		text := fmt.Sprintf("PANIC since %s (%s): only %d of %d workers look healthy, so health checks are ignored and all workers get traffic",
			clock(now, m.Since), ago(now, m.Since), m.Healthy, m.Up)
		for _, line := range wrap(text, p.columns()-4) {
			p.printf("  %s\n", p.paint(loud, line))
		}
	}
	if r := f.Recovery; r != nil {
		text := fmt.Sprintf("recovering: half of the workers have just died, so unproven requests return to the fleet a few at a time: %d may run now, %d wait. Proven requests are not held back",
			r.Runs, r.Waiting)
		for _, line := range wrap(text, p.columns()-4) {
			p.printf("  %s\n", p.paint(yellow, line))
		}
	}
	if r := f.Rollout; r != nil {
		writeRollout(p, now, r)
	}
	if l := f.Pool; l != nil {
		p.printf("  %s\n", poolText(l))
	}
	if s := f.Shard; s != nil {
		p.printf("  %s\n", shardText(s))
	}
}

func poolText(l *adminapi.Pool) string {
	kind := "fixed"
	if l.Adaptive {
		kind = "adaptive"
	}
	var shed []string
	for _, c := range l.Classes {
		if c.Shed > 0 {
			shed = append(shed, fmt.Sprintf("%d %s", c.Shed, clean(c.Priority)))
		}
	}
	text := fmt.Sprintf("pool %d of %d (%s) in flight, %d queued, ", l.InFlight, l.Limit, kind, l.Queued)
	if l.Streams > 0 {
		text += count(int64(l.Streams), "stream", "streams") + ", "
	}
	text += "shed "
	if len(shed) == 0 {
		return text + "nothing"
	}
	return text + strings.Join(shed, ", ")
}

func shardText(s *adminapi.Shard) string {
	what := count(int64(s.Size), "worker", "workers") + " for each caller"
	if s.Cells > 0 {
		what = count(int64(s.Cells), "cell", "cells")
	}
	return fmt.Sprintf("shards %s, two callers share all with probability %s; overflow %s, %d overflowed", what, chance(s.Whole), clean(s.Overflow), s.Overflowed)
}

// stoppedWhy returns why a rolling restart stopped, without what was attempted: the
// caller has said that before.
func stoppedWhy(r *adminapi.Rollout) string {
	if attempt, why, ok := strings.Cut(r.Why, ": "); ok && strings.HasPrefix(attempt, "restart fleet ") {
		return why
	}
	return r.Why
}

// writeRollout prints the state of the newest rolling restart and, if it stopped, what to do.
func writeRollout(p *printer, now time.Time, r *adminapi.Rollout) {
	switch r.State {
	case "running":
		p.printf("  %s\n", p.paint(cyan, fmt.Sprintf("rolling restart since %s: %d of %d workers replaced, now %s",
			clock(now, r.Began), r.Replaced, r.Workers, clean(r.Worker))))
	case "stopped":
		text := fmt.Sprintf("ROLLING RESTART STOPPED %s (%s): %s. %s", clock(now, r.Ended), ago(now, r.Ended), clean(stoppedWhy(r)), clean(r.Next))
		for _, line := range wrap(text, p.columns()-4) {
			p.printf("  %s\n", p.paint(red, line))
		}
	}
}

package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/flow/flowapi"
	"github.com/bezoar-dev/bezoar/internal/flow/flowlocal"
	"github.com/bezoar-dev/bezoar/policy/task"
)

type flowLsCmd struct {
	place
	Flow     string `placeholder:"NAME" help:"Only runs of this flow."`
	In       string `placeholder:"STATE" enum:",running,held,success,failed,cancelled" default:"" help:"Only runs in this state: running, held, success, failed or cancelled."`
	Backfill string `placeholder:"ID" help:"Only runs of this backfill."`
	Limit    int    `short:"n" default:"20" placeholder:"N" help:"At most this many, up to 1000 (default ${default})."`
}

func (c *flowLsCmd) Run(s *session) error {
	if c.Limit < 1 || c.Limit > flowapi.MaxPage {
		return exitf(exitUsage, "--limit is %d, want 1 to %d", c.Limit, flowapi.MaxPage)
	}
	flows, local, done, err := c.open(s)
	if err != nil {
		return err
	}
	defer done()
	runs, err := flows.Runs(s, flowapi.RunQuery{Flow: c.Flow, State: flow.RunState(strings.ToUpper(c.In)), Backfill: c.Backfill, Limit: c.Limit})
	if err == nil && len(runs) == 0 {
		err = s.unknownFlow(flows, c.Flow)
	}
	for i := range runs {
		waits(local, &runs[i])
	}
	return s.list(map[string]any{"runs": append([]flowapi.Run{}, runs...)}, len(runs), err, listing{
		none: "no runs",
		head: []string{"RUN", "FLOW", "STATE", "BEGAN", ">TOOK", "PARAMETERS", "WHY"},
		row: func(now time.Time, i int) []cell {
			r := runs[i]
			return []cell{
				plain(r.ID), plain(r.Flow),
				{string(r.State), runStyle(r.State)},
				plain(ago(now, r.Created)), plain(lasted(r.Created, r.Ended, now)),
				plain(params(r.Params)), plain(r.Why),
			}
		},
	})
}

// waits says of a run that is not over why nothing happens. local is nil if a process runs the state directory.
func waits(local *flowlocal.Local, r *flowapi.Run) {
	if local != nil && r.State == flow.RunRunning && r.Why == "" {
		r.Why = "no process runs it: bezoar flow run --resume goes on"
	}
}

func params(p map[string]string) string {
	var out []string
	for name, v := range p {
		out = append(out, name+"="+cut(v, 40))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func runStyle(state flow.RunState) string {
	switch state {
	case flow.RunSuccess:
		return green
	case flow.RunFailed, flow.RunCancelled:
		return red
	case flow.RunHeld:
		return yellow
	default:
		return cyan
	}
}

// lasted formats a duration, rounded for people.
func lasted(from, to, now time.Time) string {
	if from.IsZero() {
		return ""
	}
	if to.IsZero() {
		to = now
	}
	return length(to.Sub(from))
}

func length(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
}

type flowShowCmd struct {
	place
	ID string `arg:"" name:"run" optional:"" default:"last" help:"The run: its ID, the beginning of it, or last (default)."`
}

func (c *flowShowCmd) Run(s *session) error {
	flows, local, done, err := c.open(s)
	if err != nil {
		return err
	}
	defer done()
	id, err := s.resolveRun(flows, c.ID)
	if err != nil {
		return err
	}
	r, err := flows.Run(s, id)
	waits(local, &r)
	return s.show(r, err, func() { writeRun(s.out, &r, s.now()) })
}

// writeRun prints a run as a tree, and what needs a person.
func writeRun(p *printer, r *flowapi.Run, now time.Time) {
	for _, line := range treeOf(p, r, now, 0) {
		p.printf("%s\n", line)
	}
	fact := func(name, text string) {
		if text != "" {
			p.printf("  %-10s %s\n", name, text)
		}
	}
	fact("parameters", clean(params(r.Params)))
	if !r.Due.Equal(r.Created) {
		fact("due", r.Due.Format(time.RFC3339))
	}
	if !r.Deadline.IsZero() {
		fact("deadline", r.Deadline.In(now.Location()).Format("2006-01-02 15:04:05"))
	}
	fact("why", clean(r.Why))
	fact("backfill", clean(r.Backfill))
	for i := range r.Tasks {
		for j := range r.Tasks[i].Instances {
			in := &r.Tasks[i].Instances[j]
			if in.State == task.DeadLetter || in.State == task.Failed {
				writeFailed(p, &r.Tasks[i], in, now)
			}
		}
	}
}

// writeFailed prints why one instance waits for a person.
func writeFailed(p *printer, t *flowapi.Task, in *flowapi.Instance, now time.Time) {
	p.printf("\n%s\n", p.paint(bold, clean(instanceName(t, in))+" "+string(in.State)))
	for _, line := range wrap(clean(in.Why), p.columns()-2) {
		p.printf("  %s\n", line)
	}
	if in.Item != "" {
		p.printf("  item   %s\n", clean(cut(in.Item, 200)))
	}
	if in.Letter != "" {
		p.printf("  letter %s\n", clean(in.Letter))
	}
	if in.Group != "" {
		p.printf("  group  %s\n", clean(in.Group))
	}
	for _, f := range in.Failures {
		quality := ""
		if f.Quality != "" {
			quality = " (quality " + f.Quality + ")"
		}
		p.printf("  %s  %s%s: %s\n", clock(now, f.At), clean(f.Class), clean(quality), cut(clean(f.Reason), 200))
	}
}

func instanceName(t *flowapi.Task, in *flowapi.Instance) string {
	if t.Each && in.Index >= 0 {
		return fmt.Sprintf("%s[%d]", in.Task, in.Index)
	}
	return in.Task
}

// line writes one JSON document in one line.
func (s *session) line(v any) error { return json.NewEncoder(s.Stdout).Encode(v) }

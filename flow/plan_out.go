package flow

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/policy/task"
)

// outbox holds a plan's requests to the outside.
type outbox struct {
	stops   []Stop
	letters []Letter
	settled []settlement
	pages   []Incident
	free    []string // keys of effects
}

type settlement struct{ id, why string }

// flush moves what has changed into a batch.
func (p *plan) flush(b *Batch) {
	if p.changed || len(p.dirty) > 0 {
		p.run.Version++
		b.Runs = append(b.Runs, p.run)
	}
	for _, i := range p.dirty {
		i.dirty = false
		b.Instances = append(b.Instances, i.Instance)
	}
	b.Free = append(b.Free, p.out.free...)
	b.Done = append(b.Done, p.done()...)
	p.changed, p.dirty, p.out.free = false, p.dirty[:0], nil
}

func letterID(run, name string, index, n int) string {
	return fmt.Sprintf("%s/%s/%d/%d", run, name, index, n)
}

// bury creates the dead letter of an instance.
func (p *plan) bury(i *inst) {
	e := i.last
	e.Rows, e.Output = nil, nil
	if e.Reason == "" && e.Fingerprint == "" && len(i.History.Last) > 0 { // the engine died before it was told
		f := i.History.Last[len(i.History.Last)-1]
		e.Reason, e.Fingerprint, e.Group, e.Quality = f.Reason, f.Fingerprint, f.Group, f.Quality
		_ = e.Class.UnmarshalText([]byte(f.Class)) // an unknown class becomes the zero class
	}
	p.out.letters = append(p.out.letters, Letter{
		ID: letterID(i.Run, i.Task, i.Index, i.History.Attempts), Flow: p.run.Flow, Run: i.Run, Task: i.Task, Index: i.Index, Item: i.Item,
		Attempt: i.History.Attempts, Params: p.params(i), Why: i.Why, Failures: i.History.Last, Ending: e, At: i.Since,
	})
}

// settled marks the letter of an instance as handled.
func (p *plan) settled(i *inst, why string) {
	if i.State != task.DeadLetter && i.Letter == "" {
		return
	}
	id := i.Letter
	if id == "" {
		id = letterID(i.Run, i.Task, i.Index, i.History.Attempts)
	}
	p.out.settled = append(p.out.settled, settlement{id, why})
	i.Letter = ""
	p.touch(i)
}

func (p *plan) incident(i *inst, kind, group, why string) Incident {
	return Incident{
		Kind: kind, Group: group, Task: i.Task, Index: i.Index, Item: i.Item, Class: i.last.Class.String(), Reason: clip(i.last.Reason, 1000),
		Why: why, Letter: letterID(i.Run, i.Task, i.Index, i.History.Attempts), Hooks: p.run.Definition.OnDeadLetter,
	}
}

// page notifies people, once per failure group.
func (p *plan) page(in Incident, now time.Time) {
	for _, was := range p.run.Pages {
		if was.Group == in.Group {
			return
		}
	}
	if len(p.run.Pages) >= MaxPages {
		return
	}
	if len(p.run.Pages) == MaxPages-1 {
		in.Group, in.Why = "more", fmt.Sprintf("there are more than %d failure groups; the others send no pages: %s", MaxPages-1, in.Why)
	}
	in.Flow, in.Run, in.Due, in.At = p.run.Flow, p.run.ID, p.run.Due, now
	p.run.Pages = append(slices.Clip(p.run.Pages), Page{Group: in.Group, Kind: in.Kind, At: now})
	p.changed = true
	p.out.pages = append(p.out.pages, in)
}

// counted adds the present number of instances to an incident.
func (p *plan) counted(in Incident) Incident {
	in.Dead, in.Held = 0, p.held()
	for _, n := range p.nodes {
		for _, i := range n.all() {
			if i.State == task.DeadLetter && i.Group == in.Group {
				in.Dead++
			}
		}
	}
	return in
}

// repage repeats the incidents whose pages were not sent.
func (p *plan) repage() {
	for _, page := range p.run.Pages {
		if page.Sent {
			continue
		}
		in := Incident{
			Kind: page.Kind, Group: page.Group, Flow: p.run.Flow, Run: p.run.ID, Due: p.run.Due, At: page.At, Why: p.run.Why,
			Hooks: p.run.Definition.OnDeadLetter,
		}
		if page.Kind == KindFailure {
			in.Hooks = p.run.Definition.OnFailure
		}
		for _, n := range p.nodes {
			for _, i := range n.all() {
				if i.Group == page.Group && i.State == task.DeadLetter && in.Task == "" {
					in.Task, in.Index, in.Item, in.Why, in.Letter = i.Task, i.Index, i.Item, i.Why, i.Letter
				}
			}
		}
		p.out.pages = append(p.out.pages, in)
	}
}

// sent records that the page of a group was sent.
func (p *plan) sent(group string) {
	all := append([]Page(nil), p.run.Pages...)
	for k := range all {
		if all[k].Group == group && !all[k].Sent {
			all[k].Sent, p.changed = true, true
		}
	}
	p.run.Pages = all
}

// clip returns the beginning of a text.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

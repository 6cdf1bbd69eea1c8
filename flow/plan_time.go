package flow

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/policy/task"
)

// conclude updates the state of the run.
func (p *plan) conclude(now time.Time) {
	c := p.counts
	active := c[task.Pending] + c[task.Ready] + c[task.Running] + c[task.Retrying] + c[task.Sensing] + c[task.Interrupted]
	state, why := RunRunning, ""
	switch {
	case active > 0:
	case c[task.DeadLetter]+c[task.Held] > 0:
		state, why = RunHeld, waiting(c[task.DeadLetter], p.held())
	default:
		state, why = p.outcome()
	}
	if state == p.run.State && (why == p.run.Why || why == "") {
		return
	}
	p.run.State, p.changed = state, true
	p.run.Why = why
	if !state.Over() {
		return
	}
	p.over, p.run.Ended = true, now
	if state == RunFailed {
		p.page(Incident{Kind: KindFailure, Group: "run", Why: why, Hooks: p.run.Definition.OnFailure}, now)
	}
}

// held counts the instances that wait behind dead letters. A task whose instances are there is not counted beside them.
func (p *plan) held() int {
	n := p.counts[task.Held]
	for _, node := range p.nodes {
		if node.unfolded() && node.rep.State == task.Held {
			n--
		}
	}
	return n
}

// outcome returns the final state of a run, and the reason.
func (p *plan) outcome() (RunState, string) {
	failed, cancelled, first := 0, 0, ""
	for _, n := range p.nodes {
		switch s := n.rep.State; {
		case s == task.Cancelled:
			cancelled++
		case s.Over() && !s.Lets(n.task.Permit):
			if failed++; first == "" || s == task.Failed {
				first = n.task.Name
			}
		}
	}
	switch {
	case failed > 0:
		return RunFailed, fmt.Sprintf("%d of %d tasks failed, %s among them", failed, len(p.nodes), first)
	case cancelled > 0:
		return RunCancelled, fmt.Sprintf("%d of %d tasks were cancelled", cancelled, len(p.nodes))
	default:
		return RunSuccess, ""
	}
}

// timers is a heap of instances by their NextAt.
type timers []*inst

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].NextAt.Before(t[j].NextAt) }
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].timer, t[j].timer = i+1, j+1
}

// Push adds an instance.
func (t *timers) Push(x any) {
	i := x.(*inst)
	*t = append(*t, i)
	i.timer = len(*t)
}

// Pop removes the last one.
func (t *timers) Pop() any {
	all := *t
	i := all[len(all)-1]
	*t, i.timer = all[:len(all)-1], 0
	return i
}

// tick handles all instances that are due.
func (p *plan) tick(now time.Time) {
	for len(p.timers) > 0 && !p.timers[0].NextAt.After(now) {
		i := p.timers[0]
		why := i.Why
		p.move(i, task.Due, why, now)
	}
	d := p.run.Deadline
	if !d.IsZero() && !p.overdue && !p.run.State.Over() && !d.After(now) {
		p.deadline(now)
	}
}

// dueAt returns when tick must be called next; zero means never.
func (p *plan) dueAt() (next time.Time) {
	if len(p.timers) > 0 {
		next = p.timers[0].NextAt
	}
	if d := p.run.Deadline; !d.IsZero() && !p.overdue && !p.run.State.Over() && (next.IsZero() || d.Before(next)) {
		next = d
	}
	return next
}

// deadline ends everything still open at the run's deadline.
func (p *plan) deadline(now time.Time) {
	p.overdue = true
	why := fmt.Sprintf("the run's deadline, %s, has passed", p.run.Deadline.UTC().Format(time.DateTime))
	n := 0
	for _, node := range p.nodes {
		for _, i := range node.all() {
			switch {
			case i.State == task.Running && i.attempt != nil:
				p.end(i, &stop{event: task.Deadline, why: why})
				n++
			case i.State != task.Running && p.move(i, task.Deadline, why, now):
				n++
			}
		}
	}
	if n > 0 {
		p.page(Incident{Kind: KindDeadline, Group: "deadline", Why: fmt.Sprintf("%s, and %d instances were not done", why, n), Hooks: p.run.Definition.OnDeadLetter}, now)
	}
	p.settle(now)
}

// waiting describes how many instances wait for a person.
func waiting(dead, held int) string {
	why := fmt.Sprintf("%d dead letters wait for a person", dead)
	if dead == 1 {
		why = "1 dead letter waits for a person"
	}
	switch held {
	case 0:
		return why
	case 1:
		return why + ", 1 instance waits behind"
	}
	return fmt.Sprintf("%s, %d instances wait behind", why, held)
}

package flow

import (
	"fmt"
	"maps"
	"time"

	"github.com/bezoar-dev/bezoar/policy/task"
)

type order struct {
	Order
	left   int  // attempts that must end first
	canary bool // a retry that tries one instance first
}

// obey carries an order out as far as possible now.
func (p *plan) obey(o Order, now time.Time) {
	for _, is := range p.orders {
		if is.ID == o.ID {
			return
		}
	}
	one := &order{Order: o}
	p.orders = append(p.orders, one)
	switch o.Verb {
	case VerbRetry:
		p.retry(one, now)
	case VerbSkip:
		p.each(one, func(i *inst) bool { return o.Task != "" || i.State == task.DeadLetter }, task.Skip, now)
	case VerbCancel:
		p.each(one, func(*inst) bool { return true }, task.Cancel, now)
	}
	p.settle(now)
}

// done returns the completed orders, and forgets them.
func (p *plan) done() (ids []int64) {
	kept := p.orders[:0]
	for _, o := range p.orders {
		if o.left > 0 || o.canary {
			kept = append(kept, o)
			continue
		}
		ids = append(ids, o.ID)
	}
	p.orders = kept
	return ids
}

func (o *order) by(what string) string {
	text := what
	if o.Who != "" {
		text += " by " + o.Who
	}
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return text
}

func (p *plan) targets(o *order, want func(*inst) bool) (all []*inst) {
	for _, n := range p.nodes {
		if o.Task != "" && n.task.Name != o.Task {
			continue
		}
		for _, i := range n.all() {
			if (o.Index < 0 || o.Task == "" || i.Index == o.Index) && (o.Group == "" || i.Group == o.Group) && want(i) {
				all = append(all, i)
			}
		}
	}
	return all
}

// each applies e to the instances of an order. It stops running ones first.
func (p *plan) each(o *order, want func(*inst) bool, e task.Event, now time.Time) {
	what := map[task.Event]string{task.Skip: "skipped", task.Cancel: "cancelled"}[e]
	for _, i := range p.targets(o, want) {
		switch {
		case i.attempt != nil:
			p.end(i, &stop{event: e, why: o.by(what), order: o})
		case i.Index < 0 && i.node.unfolded(): // it follows its instances
		default:
			letter := i.Letter
			if p.move(i, e, o.by(what), now) && letter != "" {
				p.settled(i, o.by(what))
			}
		}
	}
}

// retryable reports whether an order can retry an instance.
func (p *plan) retryable(o *order) func(*inst) bool {
	return func(i *inst) bool {
		switch i.State {
		case task.DeadLetter, task.Retrying:
			return i.Index >= 0 || !i.node.unfolded()
		case task.Failed, task.Cancelled:
			return (i.Index >= 0 || !i.node.unfolded()) && (o.Task != "" || !i.node.task.Permit)
		case task.Held: // held because of its siblings
			return i.node.task.Each != nil && i.Index >= 0 && o.Group == ""
		default:
			return false
		}
	}
}

// retry tries instances again with new budgets. If several instances of one task are dead or held, one goes first.
func (p *plan) retry(o *order, now time.Time) {
	all := p.targets(o, p.retryable(o))
	if len(all) > 0 && !p.run.Deadline.IsZero() && !p.run.Deadline.After(now) {
		p.run.Deadline, p.changed = time.Time{}, true
		p.run.Why = o.by("retried after the deadline, which no longer applies,")
	}
	dead := map[*node][]*inst{}
	for _, i := range all {
		if i.Canary == o.ID { // known from an earlier life of the engine
			i.Canary = 0
		}
		if i.Index >= 0 && i.node.task.Each != nil && (i.State == task.DeadLetter || i.State == task.Held) {
			dead[i.node] = append(dead[i.node], i)
			continue
		}
		p.again(i, o, now)
	}
	for _, n := range p.nodes {
		if group := dead[n]; len(group) > 0 {
			p.retrySiblings(o, n, group, now)
		}
	}
}

func (p *plan) retrySiblings(o *order, n *node, all []*inst, now time.Time) {
	for _, i := range n.insts { // the canary of an earlier life is in progress
		if i.Canary == o.ID {
			if i.State != task.Success {
				o.canary = true
				return
			}
			i.Canary = 0
			p.touch(i)
			p.release(o, all, now)
			return
		}
	}
	if len(all) == 1 {
		p.again(all[0], o, now)
		return
	}
	first := all[0]
	for _, i := range all {
		if i.State == task.DeadLetter {
			first = i
			break
		}
	}
	o.canary = true
	p.again(first, o, now)
	first.Canary = o.ID
	for _, i := range all {
		if i != first {
			i.Why = fmt.Sprintf("instance %d is retried first", first.Index)
			p.touch(i)
		}
	}
}

// again tries one instance again.
func (p *plan) again(i *inst, o *order, now time.Time) {
	if i.node.task.SideEffect {
		if _, _, effect, err := p.spec(i); err == nil && effect != "" {
			p.out.free = append(p.out.free, effect)
		}
	}
	if len(o.Set) > 0 {
		set := maps.Clone(i.Set)
		if set == nil {
			set = map[string]string{}
		}
		maps.Copy(set, o.Set)
		i.Set = set
	}
	p.settled(i, o.by("retried"))
	i.History, i.Group = i.History.Again(), ""
	i.First, i.asked = time.Time{}, true
	p.move(i, task.Retry, o.by("retried"), now)
	if i.State == task.Pending && i.Index >= 0 && i.node.task.Each != nil {
		p.move(i, task.NeedsMet, i.Why, now) // it has items: its needs were met
	}
	p.push(i.node)
}

// release lets the other instances follow a canary that succeeded.
func (p *plan) release(o *order, all []*inst, now time.Time) {
	for _, i := range all {
		p.again(i, o, now)
	}
}

// canary handles the end of an instance that was a canary.
func (p *plan) canary(i *inst, now time.Time) {
	if i.Canary == 0 || !i.State.Over() && i.State != task.DeadLetter && i.State != task.Held {
		return
	}
	id := i.Canary
	i.Canary = 0
	p.touch(i)
	for _, o := range p.orders {
		if o.ID != id {
			continue
		}
		want := p.retryable(o)
		rest := p.targets(o, func(j *inst) bool {
			return j.node == i.node && j != i && (j.State == task.DeadLetter || j.State == task.Held) && want(j)
		})
		o.canary = p.otherCanaries(o.ID)
		if i.State == task.Success {
			p.release(o, rest, now)
			continue
		}
		for _, j := range rest {
			j.Why = fmt.Sprintf("instance %d was retried first, and is %s", i.Index, i.State)
			p.touch(j)
		}
	}
}

func (p *plan) otherCanaries(id int64) bool {
	for _, n := range p.nodes {
		for _, i := range n.insts {
			if i.Canary == id {
				return true
			}
		}
	}
	return false
}

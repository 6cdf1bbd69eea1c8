package flow

import (
	"container/heap"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// restFor is how long the computed p95 of the rest is used.
const restFor = 10 * time.Second

// ended handles the end of the attempt of a RUNNING instance.
func (p *plan) ended(i *inst, e Ending, now time.Time) {
	i.attempt = nil
	e = p.bounded(i, e)
	i.last = e
	stop := i.stop
	i.stop = nil
	if e.Class == bezoar.Done && !e.NotYet {
		p.stats.add(p.run.Flow, i.Task, e.Elapsed)
	}
	switch {
	case stop != nil && (e.Class != bezoar.Done || e.NotYet):
		p.move(i, stop.event, stop.why, now)
	default:
		p.judge(i, e, now)
	}
	if stop != nil && stop.order != nil {
		stop.order.left--
	}
	p.canary(i, now)
}

// bounded cuts an ending to the limits, in case the executor did not.
func (p *plan) bounded(i *inst, e Ending) Ending {
	if len(e.Rows) > MaxRows {
		e.Rows = e.Rows[:MaxRows]
	}
	if e.Class != bezoar.Done {
		e.Output = nil
		return e
	}
	why := ""
	switch total := p.total - len(i.Output) + len(e.Output); {
	case len(e.Output) > MaxOutput:
		why = fmt.Sprintf("the output has %d bytes, more than %d", len(e.Output), MaxOutput)
	case total > MaxOutputs:
		why = fmt.Sprintf("all outputs of the run have %d bytes, more than %d", total, MaxOutputs)
	}
	if why != "" {
		return Ending{Class: bezoar.Invalid, Reason: why, Elapsed: e.Elapsed, CPU: e.CPU, MaxRSS: e.MaxRSS, LogBytes: e.LogBytes, Rows: e.Rows}
	}
	return e
}

func (p *plan) judge(i *inst, e Ending, now time.Time) {
	end := task.End{
		Class: e.Class, Reason: e.Reason, Fingerprint: e.Fingerprint, Group: e.Group, Quality: e.Quality, RetryAfter: e.RetryAfter,
		NotYet: e.NotYet && i.node.task.Sensor != nil, Lost: e.Lost, Free: e.Free,
	}
	history, v := i.node.rules.Judge(i.History, end, p.room(i, end, now), p.random())
	i.History = history
	if e.Class != bezoar.Done && e.Class != bezoar.Interrupted {
		i.Group = p.groupOf(i, e)
	}
	switch v.Event {
	case task.Succeed:
		p.total += len(e.Output) - len(i.Output)
		i.Output, i.Group = e.Output, ""
		p.move(i, task.Succeed, v.Why, now)
	case task.TryAgain, task.LookAgain, task.Interrupt:
		p.move(i, v.Event, v.Why, now)
		i.NextAt = now.Add(v.Wait)
		heap.Push(&p.timers, i)
	default:
		p.setAside(i, v, now)
	}
	if v.WrongTimeout && v.Event != task.SetAside {
		p.page(p.incident(i, KindTimeout, "timeout "+i.Task, v.Why), now)
	}
}

// room returns the time that the next attempt has.
func (p *plan) room(i *inst, e task.End, now time.Time) task.Room {
	room := task.Room{Now: now, First: i.First, Deadline: p.run.Deadline}
	if e.Class == bezoar.Done && !e.NotYet {
		return room
	}
	if e.Class == bezoar.Timeout || !room.Deadline.IsZero() {
		room.Run, room.P99, room.Samples = p.stats.of(p.run.Flow, i.Task)
	}
	if !room.Deadline.IsZero() {
		if p.rest == nil || now.Sub(p.restAt) > restFor {
			p.rest, p.restAt = p.stats.follows(&p.run.Definition, p.needs), now
		}
		room.Rest = p.rest[i.node.at]
	}
	return room
}

func (p *plan) groupOf(i *inst, e Ending) string {
	switch {
	case e.Group != "":
		return e.Group
	case e.Fingerprint != "":
		return e.Fingerprint
	default:
		return i.Task + " " + e.Class.String()
	}
}

// setAside handles a verdict that ends the retries.
func (p *plan) setAside(i *inst, v task.Verdict, now time.Time) {
	if i.Group == "" {
		i.Group = p.groupOf(i, i.last)
	}
	p.move(i, v.Event, v.Why, now)
	if i.State != task.DeadLetter {
		return
	}
	p.bury(i)
	kind, group := KindDeadLetter, i.Group
	switch {
	case v.Late:
		kind, group = KindDeadline, "deadline"
	case v.WrongTimeout:
		kind, group = KindTimeout, "timeout "+i.Task
	}
	p.page(p.incident(i, kind, group, v.Why), now)
}

// recount updates the counts of failures that siblings have in common.
func (p *plan) recount(i *inst) {
	n := i.node
	if n.task.Each == nil || i.Index < 0 {
		return
	}
	suspect, dead := "", ""
	if k := len(i.History.Last); k > 0 && i.History.Fresh > 0 && i.Group != "" {
		switch alike := i.History.Last[k-1].Alike(); i.State {
		case task.DeadLetter:
			dead = alike
		case task.Ready, task.Running, task.Retrying, task.Interrupted:
			suspect = alike
		default:
		}
	}
	n.suspects, i.suspect = recounted(n.suspects, i.suspect, suspect)
	n.dead, i.buried = recounted(n.dead, i.buried, dead)
}

func recounted(m map[string]int, old, is string) (map[string]int, string) {
	if old == is {
		return m, is
	}
	if m == nil {
		m = map[string]int{}
	}
	if old != "" {
		if m[old]--; m[old] == 0 {
			delete(m, old)
		}
	}
	if is != "" {
		m[is]++
	}
	return m, is
}

// maxCauses is the most different failures of one task's instances before the plan stops looking for a common one.
const maxCauses = 256

// gated reports whether siblings that have not run must wait until it is known whether the failed ones are poisoned. While
// none has succeeded, only as many instances run as are needed to find out.
func (n *node) gated() bool {
	k, causes := n.task.Poison.Siblings, len(n.suspects)+len(n.dead)
	if n.task.Poison.Off || k <= 0 || causes == 0 || causes > maxCauses {
		return false
	}
	ended, atRisk, undecided := n.ended(), 0, n.by[task.Running]
	for alike, some := range n.suspects {
		atRisk = max(atRisk, some+n.dead[alike])
		undecided += some
	}
	for _, some := range n.dead {
		atRisk = max(atRisk, some)
	}
	if undecided > 0 && n.by[task.Success] == 0 && atRisk+n.by[task.Running] >= k {
		return true
	}
	for alike, some := range n.suspects {
		if task.SiblingsPoisoned(k, some+n.dead[alike], ended+some) {
			return true
		}
	}
	for _, dead := range n.dead {
		if task.SiblingsPoisoned(k, dead, ended) {
			return true
		}
	}
	return false
}

// ended returns how many instances of a task have ended.
func (n *node) ended() int {
	return n.by[task.Success] + n.by[task.Failed] + n.by[task.DeadLetter]
}

// siblings holds back instances that have not run when too many died of one failure, and releases the waiting ones once
// that is decided.
func (p *plan) siblings(n *node, now time.Time) {
	if n.task.Each == nil || n.task.Poison.Off || len(n.parked) == 0 && len(n.dead) == 0 {
		return
	}
	for alike, dead := range n.dead {
		if len(n.dead) > maxCauses || !task.SiblingsPoisoned(n.task.Poison.Siblings, dead, n.ended()) {
			continue
		}
		why := fmt.Sprintf("%d of %d ended instances died of one failure (%s): the others are held and do not run", dead, n.ended(), p.reasonOf(n, alike))
		for _, i := range n.insts {
			if !i.asked && (i.History.Attempts == 0 && i.State == task.Ready || i.State == task.Interrupted) {
				p.move(i, task.HoldBack, why, now)
			}
		}
		n.parked = nil
		return
	}
	if len(n.parked) > 0 && !n.gated() {
		all := n.parked
		n.parked = nil
		for _, i := range all {
			p.back(i)
		}
	}
}

// reasonOf returns the reason of a dead instance with that failure.
func (p *plan) reasonOf(n *node, alike string) string {
	for _, i := range n.insts {
		if i.buried == alike && len(i.History.Last) > 0 {
			return clip(i.History.Last[len(i.History.Last)-1].Reason, 120)
		}
	}
	return ""
}

// end stops the attempt of an instance.
func (p *plan) end(i *inst, s *stop) {
	if i.stop != nil && i.stop.order != nil {
		i.stop.order.left--
	}
	i.stop = s
	if s.order != nil {
		s.order.left++
	}
	if i.attempt != nil && i.attempt.Token != 0 {
		class := bezoar.Interrupted
		if s.event == task.Deadline {
			class = bezoar.Timeout
		}
		p.out.stops = append(p.out.stops, Stop{i.attempt.Token, class, s.why})
	}
}

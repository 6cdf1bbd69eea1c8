package flow

import (
	"container/heap"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// plan is one run in memory. It is pure: time, randomness and outside facts are arguments. The engine's loop owns it.
type plan struct {
	run    Run
	nodes  []*node // in the order of the definition
	byName map[string]*node
	needs  [][]int // of each task, as indexes of nodes
	cache  templates
	plain  bool // the flow's environment contains no template
	stats  *stats
	random func() float64
	glob   func(pattern string) ([]string, error)

	counts   map[task.State]int
	work     []*node // to be checked, because their needs have changed
	unfolded []*inst // tasks with Each whose items must be found
	ready    lanes
	timers   timers
	dirty    []*inst
	changed  bool // the run itself must be stored
	over     bool // the run is over, and that must be stored
	total    int  // bytes of all outputs
	size     int  // number of instances
	overdue  bool // the deadline was handled
	open     bool // it may begin attempts: see Definition.MaxRuns
	runView  map[string]any
	rest     []time.Duration // p95 of the path after each task
	restAt   time.Time
	orders   []*order
	out      outbox
}

// node is one task of a run.
type node struct {
	task  *Task
	rules task.Rules
	at    int // index in the definition
	needs []*node
	kids  []*node
	plain bool // the task contains no template

	let, failed, held int // number of needs in that state
	rep               *inst
	insts             []*inst // by index; for a task without Each, only rep
	by                map[task.State]int
	queued            bool
	dead              map[string]int // dead instances by failure group
	suspects          map[string]int // instances with such failures that are tried again
	parked            []*inst        // ready, but waiting for suspects
}

type inst struct {
	Instance
	node    *node
	attempt *Attempt // while RUNNING
	stop    *stop    // why its attempt must end
	suspect string   // its key in suspects
	buried  string   // its key in dead
	dirty   bool
	queued  bool // it is in a lane
	timer   int  // index in timers, from 1
	asked   bool // an operator has ordered it, whatever its siblings did
	last    Ending
}

// stop says what happens to an instance when its attempt has ended.
type stop struct {
	event task.Event
	why   string
	order *order
}

// newPlan creates the plan of a run from its state in the store.
func newPlan(run Run, all []Instance, s *stats, random func() float64, glob func(string) ([]string, error)) (*plan, error) {
	p := &plan{
		run: run, cache: templates{}, stats: s, random: random, glob: glob, counts: map[task.State]int{}, open: true,
		byName: make(map[string]*node, len(run.Definition.Tasks)),
	}
	p.ready.byKey = map[laneKey]*lane{}
	p.over = run.State.Over() // it was taken to send its pages
	p.plain = !hasTemplates(run.Definition.Env)
	p.addNodes()
	for k := range all {
		n := p.byName[all[k].Task]
		if n == nil {
			return nil, fmt.Errorf("run %s has an instance of %.80q, and no such task", run.ID, all[k].Task)
		}
		p.place(&inst{Instance: all[k], node: n})
	}
	for _, n := range p.nodes {
		if n.rep == nil {
			return nil, fmt.Errorf("run %s has no instance of %.80q", run.ID, n.task.Name)
		}
		sorted.Func(n.insts, func(a, b *inst) int { return a.Index - b.Index })
		for _, kid := range n.kids {
			kid.weigh(n.rep.State, n.task.Permit, 1)
		}
		p.push(n)
	}
	return p, nil
}

func hasTemplates(env map[string]Value) bool {
	for _, v := range env {
		if v.Secret == "" && v.Text != "" {
			return true
		}
	}
	return false
}

func (p *plan) addNodes() {
	tasks := p.run.Definition.Tasks
	p.nodes, p.needs = make([]*node, len(tasks)), make([][]int, len(tasks))
	for k := range tasks {
		n := &node{task: &tasks[k], at: k, rules: rulesOf(&tasks[k], p.run.Definition.Build), plain: simple(&tasks[k])}
		p.nodes[k], p.byName[tasks[k].Name] = n, n
	}
	for k, n := range p.nodes {
		n.needs = make([]*node, len(n.task.Needs))
		p.needs[k] = make([]int, len(n.task.Needs))
		for j, name := range n.task.Needs {
			need := p.byName[name]
			n.needs[j], p.needs[k][j] = need, need.at
			need.kids = append(need.kids, n)
		}
	}
}

func rulesOf(t *Task, build string) task.Rules {
	r := task.Rules{
		Attempts: t.Retry.Attempts, Backoff: t.Retry.Backoff, NoPoison: t.Poison.Off, After: t.Poison.After, MinAttempts: t.Poison.MinAttempts,
		Permit: t.Permit, Timeout: t.Timeout, Once: t.SideEffect, Build: build,
	}
	if t.Sensor != nil {
		r.Every, r.Patience = t.Sensor.Every, t.Sensor.Timeout
	}
	return r
}

// place puts an instance where it belongs in its state.
func (p *plan) place(i *inst) {
	n := i.node
	p.counts[i.State]++
	p.total += len(i.Output)
	p.size++
	if n.task.Each == nil || i.Index < 0 {
		n.rep = i
	}
	if n.task.Each == nil || i.Index >= 0 {
		n.insts = append(n.insts, i)
	}
	if n.task.Each != nil && i.Index >= 0 {
		if n.by == nil {
			n.by = map[task.State]int{}
		}
		n.by[i.State]++
	}
	p.recount(i)
	switch i.State {
	case task.Ready:
		p.enqueue(i)
	case task.Retrying, task.Sensing, task.Interrupted:
		heap.Push(&p.timers, i)
	case task.DeadLetter:
		if i.Letter == "" {
			p.bury(i)
		}
	default:
	}
}

// weigh counts a need; add is 1 or -1.
func (n *node) weigh(s task.State, permit bool, add int) {
	switch {
	case s.Lets(permit):
		n.let += add
	case s.Over():
		n.failed += add
	case s == task.DeadLetter || s == task.Held:
		n.held += add
	}
}

// move applies an event to an instance, if its state permits that.
func (p *plan) move(i *inst, e task.Event, why string, now time.Time) bool {
	next, ok := i.State.Next(e)
	if !ok {
		return false
	}
	if i.timer > 0 {
		heap.Remove(&p.timers, i.timer-1)
	}
	i.Why, i.NextAt = why, time.Time{}
	p.set(i, next)
	i.Since = now
	if next == task.Ready {
		p.enqueue(i)
	}
	return true
}

// set changes the state, and everything derived from it.
func (p *plan) set(i *inst, next task.State) {
	old, n := i.State, i.node
	i.State = next
	p.counts[old]--
	p.counts[next]++
	p.touch(i)
	if i != n.rep {
		n.by[old]--
		n.by[next]++
		p.push(n)
	} else {
		for _, kid := range n.kids {
			kid.weigh(old, n.task.Permit, -1)
			kid.weigh(next, n.task.Permit, 1)
			p.push(kid)
		}
	}
	p.recount(i)
}

func (p *plan) touch(i *inst) {
	p.changed = true
	if !i.dirty {
		i.dirty = true
		p.dirty = append(p.dirty, i)
	}
}

func (p *plan) push(n *node) {
	if !n.queued {
		n.queued = true
		p.work = append(p.work, n)
	}
}

// settle applies changes to the tasks that depend on them, and updates the state of the run.
func (p *plan) settle(now time.Time) {
	for len(p.work) > 0 || len(p.unfolded) > 0 {
		for k := 0; k < len(p.work); k++ { // the loop itself may extend it
			n := p.work[k]
			n.queued = false
			if n.unfolded() {
				p.gather(n, now)
			} else {
				p.gate(n, now)
			}
			p.siblings(n, now)
		}
		p.work = p.work[:0]
		todo := p.unfolded
		p.unfolded = nil
		for _, i := range todo {
			if i.State == task.Ready {
				p.unfold(i, now)
			}
		}
	}
	p.conclude(now)
}

// unfolded reports whether the instances of a task with Each exist.
func (n *node) unfolded() bool { return n.task.Each != nil && len(n.insts) > 0 }

// gate updates a task from its needs.
func (p *plan) gate(n *node, now time.Time) {
	i := n.rep
	switch i.State {
	case task.Pending, task.Held, task.UpstreamFailed:
	default:
		return
	}
	if n.failed > 0 {
		p.move(i, task.NeedsFailed, p.because(n, "failed for good: ", func(s task.State, ok bool) bool { return s.Over() && !ok }), now)
		return
	}
	held := n.held > 0
	if i.State != task.Pending && (!held || i.State == task.UpstreamFailed) {
		p.move(i, task.Release, "", now)
	}
	switch {
	case i.State != task.Pending:
	case n.let == len(n.needs):
		p.move(i, task.NeedsMet, "", now)
	case held:
		p.move(i, task.NeedsHeld, p.because(n, "waits for ", func(s task.State, _ bool) bool { return s == task.DeadLetter || s == task.Held }), now)
	}
}

// because describes the first need for which is returns true.
func (p *plan) because(n *node, what string, is func(s task.State, lets bool) bool) string {
	for _, need := range n.needs {
		if is(need.rep.State, need.rep.State.Lets(need.task.Permit)) {
			if need.rep.State == task.DeadLetter || need.rep.State == task.Held {
				return fmt.Sprintf("%s%s, which is %s", what, need.task.Name, need.rep.State)
			}
			return what + need.task.Name
		}
	}
	return ""
}

// gather updates a task with Each from its instances.
func (p *plan) gather(n *node, now time.Time) {
	by, i := n.by, n.rep
	waiting := by[task.DeadLetter] + by[task.Held]
	over := by[task.Success] + by[task.Failed] + by[task.UpstreamFailed] + by[task.Skipped] + by[task.Cancelled]
	if active := len(n.insts) - waiting - over; active > 0 {
		if i.State != task.Running {
			p.move(i, task.Begin, "", now)
		}
		return
	}
	event, why := task.Succeed, ""
	switch {
	case waiting > 0:
		event, why = task.HoldBack, fmt.Sprintf("%d of %d instances wait for a person", waiting, len(n.insts))
	case by[task.Failed]+by[task.UpstreamFailed] > 0:
		event, why = task.GiveUp, fmt.Sprintf("%d of %d instances failed", by[task.Failed]+by[task.UpstreamFailed], len(n.insts))
	case by[task.Cancelled] > 0:
		event, why = task.Cancel, fmt.Sprintf("%d of %d instances were cancelled", by[task.Cancelled], len(n.insts))
	}
	if next, _ := task.Running.Next(event); next == i.State {
		return
	}
	if i.State != task.Running {
		p.move(i, task.Begin, "", now)
	}
	p.move(i, event, why, now)
}

// all returns the instances of a task, its own first.
func (n *node) all() []*inst {
	if n.task.Each == nil {
		return n.insts
	}
	return append([]*inst{n.rep}, n.insts...)
}

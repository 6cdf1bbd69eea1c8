package flow

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// game plays one run: the planner against ends, orders and crashes at random.
type game struct {
	*rapid.T
	p      *plan
	now    time.Time
	stored map[string]Instance // what the store has
	run    Run
	orders int64
}

func drawDefinition(t *rapid.T) Definition {
	d := Definition{Name: "d", Build: "b"}
	n := rapid.IntRange(1, 8).Draw(t, "tasks")
	for k := range n {
		tk := Task{Name: fmt.Sprint("t", k), Func: "f", Permit: rapid.IntRange(0, 4).Draw(t, "permit") == 0}
		for need := range k {
			if rapid.IntRange(0, 2).Draw(t, "need") == 0 {
				tk.Needs = append(tk.Needs, fmt.Sprint("t", need))
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "each") == 0 {
			tk.Each = &Each{List: slices.Repeat([]string{"x"}, rapid.IntRange(0, 6).Draw(t, "items"))}
		}
		d.Tasks = append(d.Tasks, tk)
	}
	return d.WithDefaults()
}

func (g *game) half() float64 { return 0.5 }

func noFiles(string) ([]string, error) { return nil, nil }

func (g *game) load(all []Instance) {
	p, err := newPlan(g.run, all, newStats(), g.half, noFiles)
	if err != nil {
		g.Fatal(err)
	}
	g.p = p
}

// flush writes, as the engine does.
func (g *game) flush() {
	g.p.settle(g.now)
	var b Batch
	g.p.flush(&b)
	for _, i := range b.Instances {
		g.stored[fmt.Sprint(i.Task, i.Index)] = CloneInstance(i)
	}
	for _, r := range b.Runs {
		g.run = CloneRun(r)
	}
	g.p.out = outbox{}
}

func (g *game) running() (all []*inst) {
	for _, n := range g.p.nodes {
		for _, i := range n.insts {
			if i.State == task.Running {
				all = append(all, i)
			}
		}
	}
	return all
}

func (g *game) begin() bool {
	for _, l := range g.p.ready.all {
		i := g.p.next(l)
		if i == nil {
			continue
		}
		a, _, ok := g.p.prepare(i, g.now)
		if !ok {
			g.Fatal("a task without templates cannot begin")
		}
		g.p.begin(i, a, g.now)
		if rapid.IntRange(0, 9).Draw(g.T, "no slot") == 0 {
			g.p.notBegun(i, g.now)
			g.p.back(i)
			return true
		}
		a.Token = int64(g.now.UnixMicro())
		g.p.began(i, a)
		return true
	}
	return false
}

func (g *game) end() bool {
	all := g.running()
	if len(all) == 0 {
		return false
	}
	i := rapid.SampledFrom(all).Draw(g.T, "which ends")
	e := Ending{Class: bezoar.Done}
	switch rapid.IntRange(0, 9).Draw(g.T, "how") {
	case 0, 1:
		e = Ending{Class: bezoar.Bug, Fingerprint: "f" + i.Task, Group: "g", Quality: "A", Reason: "no"}
	case 2:
		e = Ending{Class: bezoar.Transient, Reason: "not now"}
	case 3:
		e = Ending{Class: bezoar.Interrupted, Lost: true}
	case 4:
		e = Ending{Class: bezoar.Timeout}
	}
	g.p.ended(i, e, g.now)
	return true
}

func (g *game) order() {
	g.orders++
	o := Order{
		ID: g.orders, Index: rapid.IntRange(-1, 2).Draw(g.T, "index"), Verb: rapid.SampledFrom([]Verb{VerbRetry, VerbRetry, VerbSkip, VerbCancel}).Draw(g.T, "verb"),
		Task: rapid.SampledFrom([]string{"", "t0", "t1", "t2", "t5"}).Draw(g.T, "task"),
	}
	if o.Verb == VerbCancel && o.Task == "" {
		return // nothing would be left to play
	}
	g.p.obey(o, g.now)
}

// crash forgets all but what is stored. What ran is gone.
func (g *game) crash() {
	g.load(slices.Collect(maps.Values(g.stored)))
	for _, i := range g.running() {
		i.attempt = &Attempt{Run: i.Run, Task: i.Task, Index: i.Index, N: i.History.Attempts, Token: 1}
		g.p.ended(i, Ending{Class: bezoar.Interrupted, Lost: true}, g.now)
	}
}

// check recounts all that the plan counts as it goes.
func (g *game) check() {
	g.Helper()
	p := g.p
	counts := map[task.State]int{}
	for _, n := range p.nodes {
		let, failed, held := 0, 0, 0
		for _, need := range n.needs {
			switch s := need.rep.State; {
			case s.Lets(need.task.Permit):
				let++
			case s.Over():
				failed++
			case s == task.DeadLetter || s == task.Held:
				held++
			}
		}
		if let != n.let || failed != n.failed || held != n.held {
			g.Fatalf("%s counts %d, %d, %d needs, want %d, %d, %d", n.task.Name, n.let, n.failed, n.held, let, failed, held)
		}
		by := map[task.State]int{}
		for _, i := range n.all() {
			counts[i.State]++
			if i != n.rep {
				by[i.State]++
			}
			g.checkOne(n, i)
		}
		for s, k := range n.by {
			if by[s] != k {
				g.Fatalf("%s counts %d instances that are %s, want %d", n.task.Name, k, s, by[s])
			}
		}
		switch s := n.rep.State; {
		case s == task.Pending && (failed > 0 || held > 0 || let == len(n.needs)):
			g.Fatalf("%s is PENDING with %d needs met, %d failed, %d held", n.task.Name, let, failed, held)
		case (s == task.Ready || s == task.Running && n.task.Each == nil) && let < len(n.needs) && g.orders == 0:
			g.Fatalf("%s is %s, and needs are not met", n.task.Name, s)
		case s == task.UpstreamFailed && failed == 0:
			g.Fatalf("%s is UPSTREAM_FAILED, and nothing failed", n.task.Name)
		}
	}
	for _, s := range task.States() {
		if counts[s] != p.counts[s] {
			g.Fatalf("%d instances are counted as %s, want %d", p.counts[s], s, counts[s])
		}
	}
}

func (g *game) checkOne(n *node, i *inst) {
	waits := i.State == task.Retrying || i.State == task.Sensing || i.State == task.Interrupted
	if waits != (i.timer > 0) {
		g.Fatalf("%s.%d is %s, in the timers: %v", i.Task, i.Index, i.State, i.timer > 0)
	}
	if (i.State == task.Running && i.Index >= 0) != (i.attempt != nil) {
		g.Fatalf("%s.%d is %s, its attempt %+v", i.Task, i.Index, i.State, i.attempt)
	}
	if i.State == task.Ready && i.Index >= 0 && !i.queued && !slices.Contains(n.parked, i) {
		g.Fatalf("%s.%d is READY, and nobody will begin it", i.Task, i.Index)
	}
	if i.Canary != 0 && (i.State == task.Success || i.State == task.DeadLetter) {
		g.Fatalf("%s.%d is %s, and a canary still", i.Task, i.Index, i.State)
	}
}

func TestThePlannerAgainstChance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDefinition(t)
		run, all, err := prepare(StartRequest{Definition: d}, time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		g := &game{T: t, now: time.Unix(0, 0), stored: map[string]Instance{}, run: run}
		for _, i := range all {
			g.stored[fmt.Sprint(i.Task, i.Index)] = i
		}
		g.load(all)
		g.flush()
		g.check()
		moves := rapid.IntRange(0, 60).Draw(t, "moves")
		for k := 0; ; k++ {
			g.now = g.now.Add(time.Second)
			g.p.tick(g.now)
			free := k < moves // then the game plays itself to its end
			switch what := rapid.IntRange(0, 9).Draw(t, "move"); {
			case free && what == 0 && !g.p.run.State.Over():
				g.order()
			case free && what == 1 && len(g.p.orders) == 0:
				g.crash()
			case what < 6:
				g.begin()
			default:
				g.end()
			}
			g.flush()
			g.check()
			if g.p.run.State != RunRunning && (!free || g.p.run.State.Over()) {
				return
			}
			if k > 5000 {
				t.Fatalf("the run does not end: %v", g.p.counts)
			}
			if g.p.ready.n == 0 && len(g.running()) == 0 && len(g.p.timers) > 0 {
				g.now = g.p.timers[0].NextAt
			}
		}
	})
}

// layers is a DAG of width × depth tasks, each of which needs two.
func layers(width, depth int) Definition {
	d := Definition{Name: "layers", Build: "b"}
	for level := range depth {
		for k := range width {
			t := Task{Name: fmt.Sprintf("t%d-%d", level, k), Func: "f"}
			if level > 0 {
				t.Needs = []string{fmt.Sprintf("t%d-%d", level-1, k), fmt.Sprintf("t%d-%d", level-1, (k+1)%width)}
			}
			d.Tasks = append(d.Tasks, t)
		}
	}
	return d.WithDefaults()
}

// BenchmarkPlan plans a run of 10,000 tasks: checks its definition, makes its
// instances and its plan, and finds what may begin.
func BenchmarkPlan(b *testing.B) {
	d := layers(100, 100)
	b.ReportAllocs()
	for b.Loop() {
		run, all, err := prepare(StartRequest{Definition: d}, time.Now())
		if err != nil {
			b.Fatal(err)
		}
		p, err := newPlan(run, all, newStats(), randomFloat, noFiles)
		if err != nil {
			b.Fatal(err)
		}
		p.settle(time.Now())
		if p.ready.n != 100 {
			b.Fatalf("%d are ready", p.ready.n)
		}
	}
}

// BenchmarkEvent is one end of an attempt in a run of 10,000 tasks, with all that
// follows from it.
func BenchmarkEvent(b *testing.B) {
	now := time.Now()
	var p *plan
	for b.Loop() {
		if p == nil || p.ready.n == 0 {
			b.StopTimer()
			run, all, err := prepare(StartRequest{Definition: layers(100, 100)}, now)
			if err != nil {
				b.Fatal(err)
			}
			if p, err = newPlan(run, all, newStats(), randomFloat, noFiles); err != nil {
				b.Fatal(err)
			}
			p.settle(now)
			b.StartTimer()
		}
		i := p.next(p.ready.all[0])
		a, _, _ := p.prepare(i, now)
		p.begin(i, a, now)
		p.began(i, a)
		p.ended(i, Ending{}, now)
		p.settle(now)
		var batch Batch
		p.flush(&batch)
	}
}

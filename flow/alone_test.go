package flow_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// existence is one life of a node that a task can kill: its store does not answer
// any more then, and what it runs goes on unseen.
type existence struct {
	store *frozen
	died  chan struct{}
	once  sync.Once
	stop  context.CancelFunc
	done  chan error

	mu      sync.Mutex // guards what follows
	running int
	beside  []int // of each start of the killer: what ran beside it
}

func (e *existence) kill() {
	e.once.Do(func() {
		e.store.stop()
		close(e.died)
	})
}

func (e *existence) in() (beside int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running++
	return e.running - 1
}

func (e *existence) out() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running--
}

// functions are an innocent that takes longer than the killer lets it, and notes
// nothing, and a killer.
func (e *existence) functions() flow.Functions {
	return flow.Functions{
		"innocent": func(ctx context.Context, in flow.Input) ([]byte, error) {
			e.in()
			defer e.out()
			return takes(10*time.Second)(ctx, in)
		},
		"killer": func(ctx context.Context, in flow.Input) ([]byte, error) {
			beside := e.in()
			defer e.out()
			time.Sleep(2 * time.Second)
			e.mu.Lock()
			e.beside = append(e.beside, beside, e.running-1)
			e.mu.Unlock()
			e.kill()
			return takes(time.Hour)(ctx, in)
		},
	}
}

func live(t *testing.T, s flow.Store, c flow.Config) *existence {
	t.Helper()
	e := &existence{store: &frozen{Store: s}, died: make(chan struct{}), done: make(chan error, 1)}
	c.Store, c.Functions = e.store, e.functions()
	engine, err := flow.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	go func() { e.done <- engine.Run(ctx) }()
	return e
}

// end lets a dead life find out that it is over.
func (e *existence) end() {
	e.stop()
	e.once.Do(func() { e.store.stop() })
	e.store.resume()
	<-e.done
}

// A task that kills Bezoar costs the tasks beside it nothing: after a few deaths each
// of them runs alone, where they end and it is found.
func TestATaskThatKillsBezoarIsFoundAlone(t *testing.T) {
	for name, labels := range map[string][]string{"planned here": nil, "on another node": {"gpu"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { killerIsFound(t, labels) })
		})
	}
}

func killerIsFound(t *testing.T, labels []string) {
	s := newStore(t)
	planner := start(t, flow.Config{Store: s, Node: "planner", Labels: []string{"plans"}})
	d := flow.Definition{Name: "d", Tasks: []flow.Task{
		{Name: "a", Func: "innocent"}, {Name: "killer", Func: "killer"}, {Name: "b", Func: "innocent"}, {Name: "c", Func: "innocent"},
	}}
	for k := range d.Tasks {
		d.Tasks[k].RunsOn = labels
	}
	c := flow.Config{Node: "node", Slots: 8, Lease: 3 * time.Second, Works: labels != nil, Labels: labels}
	if labels == nil {
		planner.stop()
	}
	id := planner.start(d)
	var all []*existence
	view := func() flow.View {
		v, err := flow.Show(t.Context(), s, id)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for len(all) < 100 && view().Run.State == flow.RunRunning {
		e := live(t, s, c)
		all = append(all, e)
		select {
		case <-e.died:
		case <-time.After(2 * time.Minute):
		}
	}
	v := view()
	deaths, lost := 0, map[string]int{}
	for _, i := range v.Instances {
		lost[i.Task] = i.History.Lost
	}
	for k, e := range all {
		deaths += len(e.beside) / 2
		if k >= task.MaxTogether+1 && fmt.Sprint(e.beside) != "[0 0]" && len(e.beside) > 0 {
			t.Errorf("life %d: %v ran beside the killer when it began and when it killed, want nothing", k, e.beside)
		}
	}
	if is := states(v); v.Run.State != flow.RunHeld || is["killer"] != task.DeadLetter || is["a"] != task.Success || is["b"] != task.Success || is["c"] != task.Success {
		t.Errorf("after %d lives: %s %v, lost %v", len(all), v.Run.State, is, lost)
	}
	for _, i := range v.Instances {
		if i.Task == "killer" && !strings.Contains(i.Why, "while it ran alone 15 times, the limit is 15") {
			t.Errorf("why %q", i.Why)
		}
	}
	if want := task.MaxTogether + task.MaxAlone; deaths != want || lost["a"]+lost["b"]+lost["c"] > 3*(task.MaxTogether+1) {
		t.Errorf("%d deaths, want %d; attempts lost: %v", deaths, want, lost)
	}
	for _, e := range all {
		e.end()
	}
	if labels != nil {
		planner.stop()
	}
}

// What has to run alone waits until nothing else runs, and nothing else begins
// meanwhile; people see why.
func TestWhatRunsAloneWaitsForTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, flow.Config{Functions: flow.Functions{"slow": takes(time.Minute), "fine": fine}})
		slow := r.start(one(flow.Task{Name: "slow", Func: "slow"}))
		time.Sleep(time.Second)
		d := one(flow.Task{Name: "suspect", Func: "slow"})
		suspect := flow.Run{ID: slow[:25] + "~", Flow: "d", Definition: d.WithDefaults(), State: flow.RunRunning, Created: time.Now(), Due: time.Now(), Version: 1}
		if err := r.store.CreateRun(t.Context(), suspect, []flow.Instance{{
			Run: suspect.ID, Task: "suspect", State: task.Ready, Since: time.Now(), History: task.History{Attempts: 5, Lost: task.MaxTogether},
		}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		plain := r.start(one(flow.Task{Name: "plain", Func: "fine"}))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		state := func(id string) flow.Instance {
			v, err := r.Show(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return v.Instances[0]
		}
		if i := state(suspect.ID); i.State != task.Ready || !strings.Contains(i.Why, "has died 5 times while it ran: it will run alone, as soon as no other attempt runs on node n1") {
			t.Errorf("%s, %q", i.State, i.Why)
		}
		if i := state(plain); i.State != task.Ready {
			t.Errorf("a task is %s while another one waits to run alone", i.State)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if a, b := state(suspect.ID), state(plain); a.State != task.Running || b.State != task.Ready {
			t.Errorf("%s, and beside it %s", a.State, b.State)
		}
		if v := r.wait(plain); v.Run.State != flow.RunSuccess || state(suspect.ID).State != task.Success {
			t.Errorf("%s, %s", v.Run.State, state(suspect.ID).State)
		}
		r.stop()
	})
}

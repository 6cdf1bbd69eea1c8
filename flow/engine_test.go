package flow_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// rig is an engine over a store in memory, in virtual time.
type rig struct {
	*testing.T
	*flow.Engine
	store  flow.Store
	cancel context.CancelFunc
	done   chan error
}

func newStore(t *testing.T) flow.Store {
	db, err := memory.Open(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return db.Flow()
}

func start(t *testing.T, c flow.Config) *rig {
	t.Helper()
	if c.Store == nil {
		c.Store = newStore(t)
	}
	if c.Node == "" {
		c.Node = "n1"
	}
	e, err := flow.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &rig{t, e, c.Store, cancel, make(chan error, 1)}
	go func() { r.done <- e.Run(ctx) }()
	t.Cleanup(cancel) // of a test that fails
	return r
}

func (r *rig) stop() {
	r.T.Helper()
	r.cancel()
	if err := <-r.done; err != nil {
		r.Errorf("Run = %v", err)
	}
}

func (r *rig) start(d flow.Definition) string {
	r.T.Helper()
	run, err := r.Start(r.T.Context(), flow.StartRequest{Definition: d})
	if err != nil {
		r.Fatal(err)
	}
	return run.ID
}

// wait waits until a run is over or held.
func (r *rig) wait(id string) flow.View {
	r.T.Helper()
	for range 100_000 { // a day and more
		v, err := r.Show(r.T.Context(), id)
		if err != nil {
			r.Fatal(err)
		}
		if v.Run.State != flow.RunRunning {
			synctest.Wait() // what the engine has done by now happened before
			return v
		}
		time.Sleep(time.Second)
		synctest.Wait()
	}
	r.Fatal("the run does not end")
	return flow.View{}
}

func states(v flow.View) map[string]task.State {
	out := map[string]task.State{}
	for _, i := range v.Instances {
		name := i.Task
		if i.Index > 0 {
			name = fmt.Sprintf("%s.%d", i.Task, i.Index)
		} else if i.Index < 0 {
			name += "*"
		}
		out[name] = i.State
	}
	return out
}

func TestADiamond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		f := func(_ context.Context, in flow.Input) ([]byte, error) {
			order = append(order, in.Task)
			return []byte(in.Task), nil
		}
		r := start(t, flow.Config{Functions: flow.Functions{"f": f}, Slots: 1})
		id := r.start(flow.Definition{Name: "d", Tasks: []flow.Task{
			{Name: "d", Func: "f", Needs: []string{"b", "c"}},
			{Name: "b", Func: "f", Needs: []string{"a"}},
			{Name: "c", Func: "f", Needs: []string{"a"}},
			{Name: "a", Func: "f"},
		}})
		v := r.wait(id)
		if v.Run.State != flow.RunSuccess || fmt.Sprint(order) != "[a b c d]" && fmt.Sprint(order) != "[a c b d]" {
			t.Errorf("%s %v, order %v", v.Run.State, states(v), order)
		}
		r.stop()
	})
}

// What waits behind a dead letter is counted as a person would count it, in the reason of the run and in its page.
func TestWhatWaitsBehindADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := func(_ context.Context, in flow.Input) ([]byte, error) {
			if in.Item == "bad" {
				return nil, errors.New("no")
			}
			return nil, nil
		}
		p := &pager{}
		r := start(t, flow.Config{Functions: flow.Functions{"f": f}, Pager: p, Slots: 1})
		v := r.wait(r.start(flow.Definition{Name: "d", Tasks: []flow.Task{
			{Name: "many", Func: "f", Each: &flow.Each{List: []string{"good", "bad"}}, Retry: flow.Retry{Attempts: 1}},
			{Name: "next", Func: "f", Needs: []string{"many"}},
			{Name: "later", Func: "f", Needs: []string{"next"}, Each: &flow.Each{From: "next"}},
		}}))
		if want := "1 dead letter waits for a person, 2 instances wait behind"; v.Run.State != flow.RunHeld || v.Run.Why != want {
			t.Errorf("%s: %q, want %q: %v", v.Run.State, v.Run.Why, want, states(v))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(p.all) != 1 || p.all[0].Held != 2 || p.all[0].Dead != 1 {
			t.Errorf("pages %+v, want one, of 1 dead and 2 held", p.all)
		}
		r.stop()
	})
}

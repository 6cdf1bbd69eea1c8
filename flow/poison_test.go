package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// pager and letters remember what they are told.
type pager struct {
	mu   sync.Mutex
	all  []flow.Incident
	fail int // times
}

func (p *pager) Page(_ context.Context, i flow.Incident) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail > 0 {
		p.fail--
		return errors.New("the pager does not answer")
	}
	p.all = append(p.all, i)
	return nil
}

type letters struct {
	mu      sync.Mutex
	all     map[string]flow.Letter
	settled map[string]string
}

func newLetters() *letters {
	return &letters{all: map[string]flow.Letter{}, settled: map[string]string{}}
}

func (l *letters) Put(_ context.Context, letter flow.Letter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all[letter.ID] = letter
	return nil
}

func (l *letters) Settle(_ context.Context, id, why string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settled[id] = why
	return nil
}

// zero fails as a program does that divides by zero.
func zero(context.Context, flow.Input) ([]byte, error) {
	none := 0
	return []byte{byte(1 / none)}, nil
}

func fine(context.Context, flow.Input) ([]byte, error) { return nil, nil }

func TestAFailureThatRepeatsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, l := &pager{fail: 2}, newLetters()
		r := start(t, flow.Config{Functions: flow.Functions{"zero": zero, "fine": fine}, Pager: p, Letters: l})
		id := r.start(flow.Definition{Name: "d", Tasks: []flow.Task{
			{Name: "zero", Func: "zero", Retry: flow.Retry{Attempts: 9}},
			{Name: "after", Func: "fine", Needs: []string{"zero"}},
			{Name: "beside", Func: "fine"},
		}})
		v := r.wait(id)
		time.Sleep(10 * time.Second) // the pager is asked again
		synctest.Wait()
		is := states(v)
		if v.Run.State != flow.RunHeld || is["zero"] != task.DeadLetter || is["after"] != task.Held || is["beside"] != task.Success {
			t.Errorf("%s, %v", v.Run.State, is)
		}
		if n := len(v.Attempts); n != 3 {
			t.Errorf("%d attempts, want 2 of zero, and 1", n)
		}
		if len(p.all) != 1 || p.all[0].Kind != flow.KindDeadLetter || p.all[0].Dead != 1 || !strings.Contains(p.all[0].Why, "2 times in one build") {
			t.Errorf("pages %+v, want one", p.all)
		}
		letter := l.all[id+"/zero/0/2"]
		if len(l.all) != 1 || letter.Ending.Class != bezoar.Crash || !strings.Contains(letter.Ending.Reason, "divide by zero") || len(letter.Failures) != 2 {
			t.Errorf("letters %+v, want that of the second attempt", l.all)
		}
		v, err := r.Show(t.Context(), id)
		if err != nil || v.Instances[2].Letter != letter.ID || len(v.Run.Pages) != 1 || !v.Run.Pages[0].Sent {
			t.Errorf("%v: %+v, pages %+v; want the letter's id and a page that is sent", err, v.Instances[2], v.Run.Pages)
		}
		// A person permits the failure.
		if err := r.Skip(t.Context(), flow.Order{Run: id, Task: "zero", Who: "me"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if v = r.wait(id); v.Run.State != flow.RunSuccess || states(v)["zero"] != task.Skipped || states(v)["after"] != task.Success {
			t.Errorf("%s, %v after skip", v.Run.State, states(v))
		}
		if l.settled[letter.ID] != "skipped by me" {
			t.Errorf("settled %v, want the letter", l.settled)
		}
		r.stop()
	})
}

const siblings = 1247

// fanOut has one task with many instances.
func fanOut(n int, f string) flow.Definition {
	each := &flow.Each{}
	for k := range n {
		each.List = append(each.List, fmt.Sprint("partition ", k))
	}
	return flow.Definition{Name: "fan", Tasks: []flow.Task{
		{Name: "each", Func: f, Each: each, Retry: flow.Retry{Attempts: 5}}, {Name: "after", Func: "fine", Needs: []string{"each"}},
	}}
}

func TestPoisonedSiblings(t *testing.T) {
	for _, slots := range []int{1, 3, 8} {
		synctest.Test(t, func(t *testing.T) {
			p, l, broken := &pager{}, newLetters(), true
			f := func(ctx context.Context, in flow.Input) ([]byte, error) {
				if broken {
					return zero(ctx, in)
				}
				return nil, nil
			}
			r := start(t, flow.Config{Functions: flow.Functions{"f": f, "fine": fine}, Slots: slots, Pager: p, Letters: l})
			id := r.start(fanOut(siblings, "f"))
			v := r.wait(id)
			time.Sleep(time.Second)
			ran, most, by := map[int]int{}, 0, map[task.State]int{}
			for _, a := range v.Attempts {
				ran[a.Index]++
				most = max(most, ran[a.Index])
			}
			for _, i := range v.Instances {
				by[i.State]++
			}
			first := max(slots, 3)
			if len(ran) > first || most > 2 || by[task.DeadLetter] != len(ran) || by[task.Held] != siblings-len(ran)+2 {
				t.Errorf("%d slots: %d instances ran, %d times at most, %v; want at most %d twice, and the others held", slots, len(ran), most, by, first)
			}
			if len(p.all) != 1 {
				t.Errorf("%d slots: %d pages, want 1", slots, len(p.all))
			}
			// The code is mended: one goes first, and the others follow.
			broken = false
			if err := r.Retry(t.Context(), flow.Order{Run: id, Index: -1}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if v = r.wait(id); v.Run.State != flow.RunSuccess || len(v.Attempts) != 2*len(ran)+siblings+1 {
				t.Errorf("%d slots: %s after %d attempts", slots, v.Run.State, len(v.Attempts))
			}
			if len(l.settled) != len(ran) {
				t.Errorf("%d letters are settled, want %d", len(l.settled), len(ran))
			}
			r.stop()
		})
	}
}

func TestACanaryThatFailsKeepsTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, flow.Config{Functions: flow.Functions{"f": zero, "fine": fine}, Slots: 3})
		id := r.start(fanOut(50, "f"))
		before := r.wait(id)
		if err := r.Retry(t.Context(), flow.Order{Run: id, Index: -1}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		v := r.wait(id)
		if n := len(v.Attempts) - len(before.Attempts); n != 2 || v.Run.State != flow.RunHeld {
			t.Errorf("%d more attempts, %s, want the 2 of one instance", n, v.Run.State)
		}
		if all, err := r.store.Orders(t.Context(), "n1"); err != nil || len(all) != 0 {
			t.Errorf("orders %v, %v are left", all, err)
		}
		r.stop()
	})
}

// Few bad partitions among many good ones are anomalies: the good ones run.
func TestALoneAnomalyHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pager{}
		f := func(ctx context.Context, in flow.Input) ([]byte, error) {
			if in.Index%50 == 49 {
				return zero(ctx, in)
			}
			return nil, nil
		}
		r := start(t, flow.Config{Functions: flow.Functions{"f": f, "fine": fine}, Pager: p})
		v := r.wait(r.start(fanOut(500, "f")))
		time.Sleep(time.Second)
		synctest.Wait()
		by := map[task.State]int{}
		for _, i := range v.Instances {
			by[i.State]++
		}
		if by[task.Success] != 490 || by[task.DeadLetter] != 10 || by[task.Held] != 2 || len(p.all) != 1 {
			t.Errorf("%v, %d pages", by, len(p.all))
		}
		r.stop()
	})
}

func TestPermittedFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pager{}
		r := start(t, flow.Config{Functions: flow.Functions{"zero": zero, "fine": fine}, Pager: p})
		v := r.wait(r.start(flow.Definition{Name: "d", Tasks: []flow.Task{
			{Name: "zero", Func: "zero", Permit: true}, {Name: "after", Func: "fine", Needs: []string{"zero"}},
		}}))
		if is := states(v); v.Run.State != flow.RunSuccess || is["zero"] != task.Failed || is["after"] != task.Success || len(p.all) != 0 {
			t.Errorf("%s, %v, %d pages", v.Run.State, is, len(p.all))
		}
		r.stop()
	})
}

func TestBadRowsAreLettersOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLetters()
		r := start(t, flow.Config{Executor: &rowsOnly{Executor: flow.InProcess(flow.Functions{"": fine})}, Letters: l})
		v := r.wait(r.start(flow.Definition{Name: "d", MaxRuns: 1, Tasks: []flow.Task{{Name: "a", Command: []string{"a"}}}}))
		runs, err := r.Runs(t.Context(), flow.RunQuery{Key: "rows " + v.Run.ID + "/a/0/1"})
		if err != nil || len(runs) != 1 || runs[0].State != flow.RunHeld || v.Run.State != flow.RunSuccess {
			t.Fatalf("%s, runs %+v, %v", v.Run.State, runs, err)
		}
		synctest.Wait()
		one := l.all[runs[0].ID+"/a/0/0"]
		if len(l.all) != 2 || one.Item != "x,{{y}}" || !strings.Contains(one.Why, "row 7 of task a, attempt 1") || one.Ending.Reason != "no date" {
			t.Errorf("letters %+v", l.all)
		}
		r.stop()
	})
}

// rowsOnly names bad rows at the end of an attempt without stdin.
type rowsOnly struct {
	flow.Executor
	mu    sync.Mutex // guards stdin
	stdin map[int64]string
}

func (x *rowsOnly) Start(ctx context.Context, s flow.Spec) error {
	x.mu.Lock()
	if x.stdin == nil {
		x.stdin = map[int64]string{}
	}
	x.stdin[s.Token] = string(s.Stdin)
	x.mu.Unlock()
	return x.Executor.Start(ctx, s)
}

func (x *rowsOnly) Wait(ctx context.Context, token int64) (flow.Ending, error) {
	e, err := x.Executor.Wait(ctx, token)
	x.mu.Lock()
	defer x.mu.Unlock()
	switch x.stdin[token] {
	case "":
		e.Rows = []flow.Row{{Index: 7, Reason: "no date", Body: []byte("x,{{y}}")}, {Index: 9, Reason: "no date", Body: []byte("z")}, {Index: 11, Body: []byte{255}}}
	case "z":
		e.Class, e.Reason = bezoar.Invalid, "no date at all"
	}
	return e, err
}

// What people were not told of a run that is over they are told in the next life.
func TestPagesOfRunsThatAreOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := newStore(t), &pager{fail: 1000}
		c := flow.Config{Store: s, Pager: p, Functions: flow.Functions{"slow": takes(time.Hour)}}
		r := start(t, c)
		d := one(flow.Task{Name: "a", Func: "slow"})
		d.Deadline = time.Minute
		v := r.wait(r.start(d))
		r.stop()
		if v.Run.State != flow.RunFailed || len(p.all) != 0 {
			t.Fatalf("%s, pages %+v", v.Run.State, p.all)
		}
		p.fail = 0
		r = start(t, c)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		kinds := map[string]bool{}
		for _, in := range p.all {
			kinds[in.Kind] = in.Run == v.Run.ID && in.Why != ""
		}
		if len(p.all) != 2 || !kinds[flow.KindFailure] || !kinds[flow.KindDeadline] {
			t.Errorf("pages %+v, want one of the deadline and one of the failure", p.all)
		}
		r.stop()
		r = start(t, c)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if after := r.wait(v.Run.ID); after.Run.State != flow.RunFailed || after.Run.Untold() || len(after.Attempts) != 1 || len(p.all) != 2 {
			t.Errorf("%+v, %d attempts, %d pages: want that nothing else has changed", after.Run, len(after.Attempts), len(p.all))
		}
		r.stop()
	})
}

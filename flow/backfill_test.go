package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
)

func january(d flow.Definition) flow.Backfill {
	d.Schedule = &flow.Schedule{Cron: "0 4 * * *", Zone: "Europe/Vienna"}
	return flow.Backfill{
		Definition: d, From: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC),
	}
}

func TestABackfillRunsAllWithACanaryFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards all that the function changes
		now, most, first := 0, 0, 0
		var days []string
		f := func(ctx context.Context, in flow.Input) ([]byte, error) {
			mu.Lock()
			now++
			most = max(most, now)
			if len(days) == 0 {
				first = most
			}
			mu.Unlock()
			_, err := takes(time.Minute)(ctx, in)
			mu.Lock()
			defer mu.Unlock()
			now--
			if err != nil {
				return nil, err
			}
			days = append(days, in.Due.UTC().Format(time.DateTime))
			return nil, nil
		}
		r := start(t, flow.Config{Functions: flow.Functions{"f": f}, Slots: 50})
		b := january(flow.Definition{Name: "d", Deadline: time.Hour, Tasks: []flow.Task{{Name: "a", Func: "f"}}})
		var seen []flow.BackfillStatus
		is, err := r.Backfill(t.Context(), b, func(s flow.BackfillStatus) { seen = append(seen, s) })
		if err != nil || is.Done != 30 || is.Failed != 0 || most != 4 || first != 1 {
			t.Errorf("%+v, %v; %d at once, %d at first", is, err, most, first)
		}
		slices.Sort(days)
		if days[0] != "2026-01-01 03:00:00" || days[29] != "2026-01-30 03:00:00" || len(slices.Compact(days)) != 30 || len(seen) < 8 {
			t.Errorf("due times %v, %d reports", days, len(seen))
		}
		p, err := r.PlanBackfill(t.Context(), b)
		if err != nil || p.Runs != 30 || p.There != 30 || p.Run != time.Minute || !p.Fits {
			t.Errorf("%+v, %v", p, err)
		}
		if again, err := r.Backfill(t.Context(), b, nil); err != nil || again.Done != 30 || len(days) != 30 {
			t.Errorf("the same again: %+v, %v, %d runs", again, err, len(days))
		}
		r.stop()
	})
}

func TestABackfillHaltsOnASharedCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, bad, ran := &pager{}, 0, 0
		var mu sync.Mutex // guards ran
		f := func(ctx context.Context, in flow.Input) ([]byte, error) {
			mu.Lock()
			ran++
			mu.Unlock()
			switch day := in.Due.Day(); {
			case day == 5: // an anomaly
				return nil, errors.New("no data that day")
			case bad > 0 && day >= bad:
				return zero(ctx, in)
			default:
				return nil, nil
			}
		}
		r := start(t, flow.Config{Functions: flow.Functions{"f": f}, Pager: p, Slots: 8})
		b := january(flow.Definition{Name: "d", Tasks: []flow.Task{{Name: "a", Func: "f"}}})
		bad = 10
		is, err := r.Backfill(t.Context(), b, nil)
		if err != nil || !is.Halted || is.Done != 8 || is.Failed < 4 || is.Failed > 7 || !strings.Contains(is.Why, "with one fingerprint") {
			t.Fatalf("%+v, %v; want a halt after the 10th", is, err)
		}
		halts := 0
		for _, in := range p.all {
			if in.Kind == flow.KindBackfill {
				halts++
			}
		}
		if halts != 1 {
			t.Errorf("%d pages about the halt, want 1", halts)
		}
		before := ran
		if is, err = r.Backfill(t.Context(), b, nil); err != nil || !is.Halted || ran != before {
			t.Errorf("the same again: %+v, %v, %d more attempts", is, err, ran-before)
		}
		// The code is mended: what failed is retried, and the rest follows.
		bad = 0
		runs, err := r.Runs(t.Context(), flow.RunQuery{State: flow.RunHeld})
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range runs {
			if run.Due.Day() != 5 {
				if err := r.Retry(t.Context(), flow.Order{Run: run.ID, Index: -1}); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if is, err = r.Backfill(t.Context(), b, nil); err != nil || is.Halted || is.Done != 29 || is.Failed != 1 {
			t.Errorf("after it was mended: %+v, %v; want all but the anomaly", is, err)
		}
		r.stop()
	})
}

func TestABackfillThatIsInterruptedGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards ran
		ran := map[string]int{}
		f := func(ctx context.Context, in flow.Input) ([]byte, error) {
			out, err := takes(time.Minute)(ctx, in)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				ran[in.Due.Format(time.DateOnly)]++
			}
			return out, err
		}
		c := flow.Config{Store: newStore(t), Functions: flow.Functions{"f": f}}
		b := january(flow.Definition{Name: "d", Tasks: []flow.Task{{Name: "a", Func: "f"}}})
		for k := 0; ; k++ {
			r := start(t, c)
			ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
			is, err := r.Backfill(ctx, b, nil)
			cancel()
			r.stop()
			if err == nil {
				if is.Done != 30 || len(ran) != 30 || k == 0 {
					t.Errorf("%+v after %d interruptions, %d days ran", is, k, len(ran))
				}
				break
			}
		}
		for day, n := range ran {
			if n != 1 {
				t.Errorf("%s ran %d times", day, n)
			}
		}
	})
}

func TestThePlanOfABackfillShowsItsArithmetic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, flow.Config{Functions: flow.Functions{"f": takes(20 * time.Second)}})
		d := flow.Definition{Name: "d", Deadline: 2 * time.Minute, Tasks: []flow.Task{
			{Name: "a", Func: "f"}, {Name: "b", Func: "f", Needs: []string{"a"}}, {Name: "c", Func: "f"},
		}}
		b := january(d)
		p, err := r.PlanBackfill(t.Context(), b)
		if err != nil || p.Run != 0 || p.Retries != 6*time.Second { // 1 s and 2 s for each of two
			t.Errorf("%+v, %v", p, err)
		}
		r.wait(r.start(d))
		p, err = r.PlanBackfill(t.Context(), b)
		want := "30 runs, 0 exist already, 30 will run, 4 at once; 3 tasks each\np95 of the longest path 40s × 30 ÷ 4 = 5m20s\n" +
			"retries along one path wait at most 6s\n40s + 6s = 46s fits the deadline of 2m0s"
		if err != nil || p.Text != want {
			t.Errorf("%v\n%s\nwant\n%s", err, p.Text, want)
		}
		for _, bad := range []flow.Backfill{{Definition: d}, {Definition: d, From: b.From, To: b.To}, {Definition: d, From: b.To, To: b.From, Every: time.Hour}} {
			if _, err := r.PlanBackfill(t.Context(), bad); err == nil {
				t.Errorf("%v to %v was taken", bad.From, bad.To)
			}
		}
		if p, err = r.PlanBackfill(t.Context(), flow.Backfill{Definition: d, From: b.From, To: b.From.Add(3 * time.Hour), Every: time.Hour}); err != nil || p.Runs != 3 || !p.First.Equal(b.From) {
			t.Errorf("%+v, %v, want three hours", p, err)
		}
		r.stop()
	})
}

func TestSchedules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // begins on 2000-01-01
		s := newStore(t)
		d := flow.Definition{Name: "d", Schedule: &flow.Schedule{Cron: "0 * * * *"}, Tasks: []flow.Task{{Name: "a", Func: "fine"}}}
		two := func() (stop func()) {
			a := start(t, flow.Config{Store: s, Functions: flow.Functions{"fine": fine}, Flows: []flow.Definition{d}})
			b := start(t, flow.Config{Store: s, Node: "n2", Functions: flow.Functions{"fine": fine}, Flows: []flow.Definition{d}})
			return func() { a.stop(); b.stop() }
		}
		dues := func() string {
			all, err := s.ListRuns(t.Context(), flow.RunQuery{})
			if err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(all, func(a, b flow.Run) int { return b.Due.Compare(a.Due) })
			out := ""
			for _, r := range slices.Backward(all) {
				out += fmt.Sprintf("%d:%s ", r.Due.Hour(), r.State)
			}
			return strings.TrimSpace(strings.ReplaceAll(out, ":SUCCESS", ""))
		}
		stop := two()
		time.Sleep(3*time.Hour + time.Minute)
		synctest.Wait()
		stop()
		if got := dues(); got != "1 2 3" {
			t.Errorf("due times %s, want one run each", got)
		}
		time.Sleep(4 * time.Hour) // until 7:01
		synctest.Wait()
		stop = two()
		time.Sleep(time.Minute)
		synctest.Wait()
		stop()
		if got := dues(); got != "1 2 3 7" {
			t.Errorf("due times %s, want the newest of those that were missed", got)
		}
		d.Schedule.CatchUp = 150 * time.Minute
		time.Sleep(5 * time.Hour) // until 12:02
		synctest.Wait()
		stop = two()
		time.Sleep(time.Minute)
		synctest.Wait()
		stop()
		if got := dues(); got != "1 2 3 7 10 11 12" {
			t.Errorf("due times %s, want those of the last 150 minutes", got)
		}
	})
}

// Schedules can be replaced while the engine runs. One that is there before and after
// skips no due time, and runs that have begun keep their definition.
func TestSchedulesAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // begins on 2000-01-01
		of := func(name, cron, f string) flow.Definition {
			return flow.Definition{Name: name, MaxRuns: 2, Schedule: &flow.Schedule{Cron: cron}, Tasks: []flow.Task{{Name: "a", Func: f}}}
		}
		r := start(t, flow.Config{
			Functions: flow.Functions{"fine": fine, "slow": takes(10 * time.Hour)}, Flows: []flow.Definition{of("kept", "0 * * * *", "slow"), of("gone", "0 * * * *", "fine")},
		})
		time.Sleep(time.Hour + time.Minute)
		synctest.Wait()
		if err := r.SetFlows([]flow.Definition{of("kept", "0 * * * *", "fine"), of("new", "30 * * * *", "fine")}); err != nil {
			t.Fatal(err)
		}
		if err := r.SetFlows([]flow.Definition{of("bad", "x", "fine")}); err == nil {
			t.Error("a schedule that cannot be read is taken")
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		all, err := r.Runs(t.Context(), flow.RunQuery{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, run := range all {
			got = append(got, fmt.Sprintf("%s %s %s", run.Flow, run.Due.Format("15:04"), run.State))
		}
		slices.Sort(got)
		if want := []string{"gone 01:00 SUCCESS", "kept 01:00 RUNNING", "kept 02:00 SUCCESS", "new 01:30 SUCCESS"}; !slices.Equal(got, want) {
			t.Errorf("runs %q, want %q", got, want)
		}
		r.stop()
	})
}

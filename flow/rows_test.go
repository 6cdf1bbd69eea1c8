package flow_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// Bad rows of a task that is done wait in a run of their own. Each is retried alone:
// one that works is over, and one that fails again waits again.
func TestBadRowsAreRetriedEachAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pager{}
		r := start(t, flow.Config{Pager: p, Executor: &rowsOnly{Executor: flow.InProcess(flow.Functions{"": fine, "fine": fine})}})
		id := r.wait(r.start(flow.Definition{Name: "d", Tasks: []flow.Task{
			{Name: "a", Func: "fine"}, {
				Name: "load", Needs: []string{"a"}, Sift: &flow.Sift{Command: []string{"load", "{{.item}}", "x.item"}, Rows: "x.csv"}, Each: &flow.Each{List: []string{"x", "{{.run.id}}"}},
				Env: map[string]flow.Value{"I": {Text: "{{.item}}"}},
			},
		}})).Run.ID
		time.Sleep(time.Second)
		synctest.Wait()
		rows, n, err := flow.RetryRows(t.Context(), r.store, id, "load", 1, "me", "the loader is mended")
		if err != nil || n != 2 {
			t.Fatalf("%d rows, %v", n, err)
		}
		again, err := r.store.Run(t.Context(), rows.ID)
		if err != nil {
			t.Fatal(err)
		}
		tk := again.Definition.Tasks[0]
		if len(again.Definition.Tasks) != 1 || tk.Command[1] != "{{.params.bezoar_item}}" || tk.Command[2] != "x.item" || tk.Env["I"].Text != tk.Command[1] ||
			again.Params["bezoar_item"] != id || tk.Sift != nil || tk.Needs != nil {
			t.Errorf("%+v, parameters %v", tk, again.Params)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		v := r.wait(rows.ID)
		if is := states(v); v.Run.State != flow.RunHeld || is["load"] != task.Success || is["load.1"] != task.DeadLetter || v.Instances[1].Item != "x,{{y}}" {
			t.Errorf("%s, %v, %+v, want that one row works and one fails again", v.Run.State, is, v.Instances)
		}
		if len(p.all) != 1 || p.all[0].Run != rows.ID {
			t.Errorf("pages %+v, want one of the row that has failed again", p.all)
		}
		if _, n, err := flow.RetryRows(t.Context(), r.store, id, "load", 1, "", ""); err != nil || n != 1 {
			t.Errorf("the second time: %d rows, %v", n, err)
		}
		if err := r.Cancel(t.Context(), flow.Order{Run: rows.ID, Index: -1}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if _, _, err := flow.RetryRows(t.Context(), r.store, id, "load", 1, "", ""); !errors.Is(err, flow.ErrOver) {
			t.Errorf("rows that are over: %v", err)
		}
		for _, where := range []struct {
			task  string
			index int
		}{{"nobody", 0}, {"load", 2}, {"a", 0}} { // the last one is a function
			if _, _, err := flow.RetryRows(t.Context(), r.store, id, where.task, where.index, "", ""); !errors.Is(err, flow.ErrNotFound) {
				t.Errorf("rows of %v: %v", where, err)
			}
		}
		r.stop()
	})
}

package flow_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bezoar-dev/bezoar/flow"
)

func TestBadRowsAreReplayedEachAloneAndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, flow.Config{Executor: rowsOnly{flow.InProcess(flow.Functions{"": fine, "fine": fine})}})
		id := r.wait(r.start(flow.Definition{Name: "d", Tasks: []flow.Task{
			{Name: "a", Func: "fine"}, {
				Name: "load", Needs: []string{"a"}, Sift: &flow.Sift{Command: []string{"load", "{{.item}}", "x.item"}, Rows: "x.csv"}, Each: &flow.Each{List: []string{"x", "{{.run.id}}"}},
				Env: map[string]flow.Value{"I": {Text: "{{.item}}"}},
			},
		}})).Run.ID
		again, err := flow.ReplayRows(t.Context(), r.store, id, "load", 1)
		if err != nil {
			t.Fatal(err)
		}
		tk := again.Definition.Tasks[0]
		if len(again.Definition.Tasks) != 1 || tk.Command[1] != "{{.params.bezoar_item}}" || tk.Command[2] != "x.item" || tk.Env["I"].Text != tk.Command[1] ||
			again.Params["bezoar_item"] != id || tk.Sift != nil || tk.Needs != nil {
			t.Errorf("%+v, parameters %v", tk, again.Params)
		}
		v := r.wait(again.ID)
		if v.Run.State != flow.RunSuccess || len(v.Instances) != 3 || v.Instances[1].Item != "x,{{y}}" {
			t.Errorf("%s, %+v, want an instance for each row", v.Run.State, v.Instances)
		}
		if _, err = flow.ReplayRows(t.Context(), r.store, id, "load", 1); !errors.Is(err, flow.ErrExists) {
			t.Errorf("the second time: %v", err)
		}
		if _, err := flow.ReplayRows(t.Context(), r.store, id, "a", 0); err == nil || !strings.Contains(err.Error(), "only commands") {
			t.Errorf("rows of a function: %v", err)
		}
		for _, where := range []struct {
			task  string
			index int
		}{{"nobody", 0}, {"load", 2}} {
			if _, err := flow.ReplayRows(t.Context(), r.store, id, where.task, where.index); !errors.Is(err, flow.ErrNotFound) {
				t.Errorf("rows of %v: %v", where, err)
			}
		}
		r.stop()
	})
}

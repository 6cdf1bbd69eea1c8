package flow_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
)

func TestAllBadRowsAreReplayedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, flow.Config{Executor: rowsOnly{flow.InProcess(flow.Functions{"": fine})}})
		d := flow.Definition{Name: "d", Tasks: []flow.Task{{Name: "load", Command: []string{"load"}, Each: &flow.Each{List: []string{"x", "y"}}}}}
		id := r.wait(r.start(d)).Run.ID
		all, err := flow.ReplayRows(t.Context(), r.store, id, "load", 1)
		if err != nil || len(all) != 2 {
			t.Fatalf("%d runs, %v, want one for each of two rows", len(all), err)
		}
		for k, run := range all {
			if tk := run.Definition.Tasks[0]; tk.Each.List[0] != "y" || tk.Env["BEZOAR_ROW"].Text != []string{"7", "9"}[k] {
				t.Errorf("%+v", tk)
			}
		}
		time.Sleep(time.Second)
		if all, err = flow.ReplayRows(t.Context(), r.store, id, "load", 1); err != nil || len(all) != 0 {
			t.Errorf("the second time: %d runs, %v", len(all), err)
		}
		r.stop()
	})
}

package app_test

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/live"
)

// Nodes over one store run the same settings, whichever of them was told, and
// each goes on serving. A put at one of them reaches the other within the poll.
func TestNodesConverge(t *testing.T) {
	t.Parallel()
	server := os.Getenv("BEZOAR_TEST_POSTGRES")
	if server == "" {
		t.Skip("no PostgreSQL: run make test, or export BEZOAR_TEST_POSTGRES=$(scripts/postgres start)")
	}
	url := newDatabase(t, server)
	settings := func(i int) string {
		return fmt.Sprintf(`
listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: %q
live: {poll: 50ms}
fleets: {app: {command: [%q], env: {%s: worker}, replicas: 2, max_in_flight: %d}}
routes:
  - {match: {path: /*}, fleet: app, client: "header:X-Api-Key", limits: [{rate: 100000/s}]}
  - {match: {path: /only%d}, fleet: app}
`, url, os.Getenv(workVar), roleVar, 8+i%3, i)
	}
	node := func() *reloaded {
		dir := t.TempDir()
		return followEdited(t, settings(0), func(c *config.Config) { c.StateDir = dir })
	}
	nodes := []*reloaded{node(), node()}
	var loads []*load
	for _, n := range nodes {
		n.serving("app", 2)
		loads = append(loads, n.load(4, "/short/"))
	}
	putInTurn(t, nodes, settings)
	putAtOnce(t, nodes, settings)
	overrule(t, nodes)
	if _, err := nodes[1].live().Rollback(t.Context(), 1, "ann"); err != nil {
		t.Fatal(err)
	}
	nodes[0].runs(settings(0))
	for i, l := range loads {
		l.stop()
		t.Logf("node %d served %d requests", i, l.sent.Load())
		if st := nodes[i].live().Status(); st.Error != "" || st.Store.Error != "" {
			t.Errorf("status %+v", st)
		}
	}
}

func putInTurn(t *testing.T, nodes []*reloaded, settings func(int) string) {
	t.Helper()
	var slowest time.Duration
	for i := 1; i <= 30; i++ {
		at, other := nodes[i%2], nodes[(i+1)%2]
		if _, err := at.live().Put(t.Context(), []byte(settings(i)), "ann", fmt.Sprint("number ", i)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		other.runs(settings(i))
		slowest = max(slowest, time.Since(began))
	}
	t.Logf("the slowest of 30 puts reached the other node after %v", slowest)
}

// putAtOnce ends with the same everywhere, and nobody's is lost.
func putAtOnce(t *testing.T, nodes []*reloaded, settings func(int) string) {
	t.Helper()
	var all sync.WaitGroup
	for k, n := range nodes {
		all.Go(func() {
			for i := range 5 {
				if _, err := n.live().Put(t.Context(), []byte(settings(100+10*k+i)), "ann", ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	nodes[0].until("both run the newest", func() bool {
		x, y := nodes[0].live().Status(), nodes[1].live().Status()
		return x.Running.Number == y.Running.Number && x.Running.Sum == x.Wanted.Sum && y.Running.Sum == y.Wanted.Sum
	})
	history, err := nodes[0].live().History(t.Context(), 0)
	if err != nil || len(history) != 41 {
		t.Errorf("%d versions, %v; want the first, 30 and 10", len(history), err)
	}
}

// overrule tightens at one node what the other heeds, and lifts it there.
func overrule(t *testing.T, nodes []*reloaded) {
	t.Helper()
	o, err := nodes[0].live().Override(t.Context(), live.Override{
		Caller: "greedy", What: live.Deny, Until: time.Now().Add(time.Minute), By: "ann", Reason: "too much",
	})
	if err != nil {
		t.Fatal(err)
	}
	nodes[1].until("the other node refuses", func() bool { return nodes[1].status("greedy") != http.StatusOK })
	if err := nodes[1].live().Lift(t.Context(), o.ID); err != nil {
		t.Fatal(err)
	}
	nodes[0].until("the first serves again", func() bool { return nodes[0].status("greedy") == http.StatusOK })
}

// status is what a caller gets.
func (r *reloaded) status(caller string) int {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url+"/", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", caller)
	res, err := r.http.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

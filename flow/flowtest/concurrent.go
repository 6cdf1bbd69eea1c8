package flowtest

import (
	"fmt"
	"sync"

	"github.com/bezoar-dev/bezoar/flow"
)

func concurrentTests() map[string]func(*rig) {
	return map[string]func(*rig){"NodesTakeAtOnce": testNodesTakeAtOnce, "NodesClaimAtOnce": testNodesClaimAtOnce, "PoolsHoldAtOnce": testPoolsHoldAtOnce}
}

const crowd = 4

// atOnce calls f for each node of a crowd.
func (r *rig) atOnce(f func(n flow.Node)) {
	var wg sync.WaitGroup
	for i := range crowd {
		n := r.node(fmt.Sprint("n", i))
		wg.Go(func() { f(n) })
	}
	wg.Wait()
}

func testNodesTakeAtOnce(r *rig) {
	const runs = 20
	for range runs {
		r.run(1, nil)
	}
	var mu sync.Mutex
	owners := map[string]string{}
	r.atOnce(func(n flow.Node) {
		for {
			all, err := r.Take(r.ctx(), n, 3)
			if err != nil {
				r.Error(err)
			}
			if len(all) == 0 {
				return
			}
			mu.Lock()
			for _, run := range all {
				if was, twice := owners[run.ID]; twice {
					r.Errorf("%s is held by %s and by %s", run.ID, was, n.Name)
				}
				owners[run.ID] = n.Name
			}
			mu.Unlock()
		}
	})
	r.errorIf(len(owners) != runs, "%d runs were taken, want %d", len(owners), runs)
}

func testNodesClaimAtOnce(r *rig) {
	const attempts = 40
	run := r.run(1, nil)
	h := r.take(r.node("planner"))
	var b flow.Batch
	for i := range attempts {
		a := attempt(run.ID, "many", "")
		a.Index = i
		b.Begin = append(b.Begin, a)
	}
	r.apply(h, b)
	var mu sync.Mutex
	claims := map[int64]string{}
	r.atOnce(func(n flow.Node) {
		for {
			all, err := r.Offers(r.ctx(), n, 3)
			if err != nil {
				r.Error(err)
			}
			if len(all) == 0 {
				return
			}
			mu.Lock()
			for _, a := range all {
				if was, twice := claims[a.Token]; twice {
					r.Errorf("attempt %d was claimed by %s and by %s", a.Token, was, n.Name)
				}
				claims[a.Token] = n.Name
			}
			mu.Unlock()
		}
	})
	r.errorIf(len(claims) != attempts, "%d attempts were claimed, want %d", len(claims), attempts)
}

func testPoolsHoldAtOnce(r *rig) {
	const size = 5
	for range crowd {
		r.run(1, nil)
	}
	var mu sync.Mutex
	begun := 0
	r.atOnce(func(n flow.Node) {
		all, err := r.Take(r.ctx(), n, 1)
		if err != nil || len(all) != 1 {
			r.Errorf("taken %v, %v, want one run", all, err)
			return
		}
		h := flow.Hold{Node: n.Name, Epoch: n.Epoch, Runs: map[string]int64{all[0].ID: all[0].Epoch}}
		for i := range 2 * size {
			a := attempt(all[0].ID, "many", n.Name)
			a.Index, a.Pool, a.Slots, a.PoolSize = i, "db", 1, size
			got, err := r.Apply(r.ctx(), h, flow.Batch{Begin: []flow.Attempt{a}})
			if err != nil {
				r.Error(err)
				return
			}
			mu.Lock()
			begun += len(got.Begun)
			mu.Unlock()
		}
	})
	r.errorIf(begun != size, "%d attempts began in a pool of %d", begun, size)
	if open := r.attempts(flow.AttemptQuery{Open: true}); len(open) != size {
		r.Errorf("%d attempts are open, want %d", len(open), size)
	}
}

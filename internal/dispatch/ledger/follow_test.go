package ledger_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// follow is how often nodes look in these tests.
const follow = 50 * time.Millisecond

// Changes fails as the other methods do.
func (s *store) Changes(ctx context.Context, fleet string, since int64) (ledger.Changes, error) {
	if err := s.fault(ctx); err != nil {
		return ledger.Changes{}, err
	}
	return s.Store.Changes(ctx, fleet, since)
}

// nodes are ledgers of one fleet over one store, each behind a wire of its own
// that can be cut.
type nodes struct {
	t     *testing.T
	all   []*ledger.Ledger
	wires []*store
}

// together runs n nodes while do does.
func together(t *testing.T, n int, do func(*nodes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		shared := newStore(t).Store
		ns := &nodes{t: t}
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range n {
			wire := &store{Store: shared}
			l, err := ledger.New(ledger.Config{Fleet: "search", Store: wire, Node: fmt.Sprint("node-", i), Follow: follow})
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Load(ctx, nil); err != nil {
				t.Fatal(err)
			}
			ns.all, ns.wires = append(ns.all, l), append(ns.wires, wire)
			wg.Go(func() {
				if err := l.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		do(ns)
		stop()
		wg.Wait()
	})
}

func (ns *nodes) pass(d time.Duration) {
	time.Sleep(d) // in the bubble's time
	synctest.Wait()
}

// kill makes w kill a worker of node i, alone in the lane.
func (ns *nodes) kill(i int, w blame.Work, epoch uint64) {
	ns.t.Helper()
	l := ns.all[i]
	l.Opened(epoch)
	tk, _, _ := l.Admit(w)
	if !l.Begin(time.Now(), tk, &w, epoch, time.Time{}, true) {
		ns.t.Fatal("the epoch is over")
	}
	l.Ended(epoch, false, bezoar.Evidence{Worker: "a", Epoch: epoch, Class: bezoar.Crash, ExitCode: 1})
	l.Close(tk, w.Fingerprint)
}

func (ns *nodes) state(i int, w blame.Work) bezoar.State {
	for _, v := range ns.all[i].Verdicts() {
		if v.Fingerprint == w.Fingerprint {
			return v.State
		}
	}
	return ""
}

func (ns *nodes) want(w blame.Work, states ...bezoar.State) {
	ns.t.Helper()
	for i, s := range states {
		if got := ns.state(i, w); got != s {
			ns.t.Errorf("node %d holds %q against the work, want %q", i, got, s)
		}
	}
}

// convict has w convicted by node i.
func (ns *nodes) convict(i int, w blame.Work) {
	ns.t.Helper()
	ns.kill(i, w, uint64(1000*i)+1)
	if ns.state(i, w) != bezoar.Quarantined {
		ns.kill(i, w, uint64(1000*i)+2)
	}
	if got := ns.state(i, w); got != bezoar.Quarantined {
		ns.t.Fatalf("two deaths in the lane left %q", got)
	}
}

func TestVerdictsReachTheOtherNodes(t *testing.T) {
	together(t, 3, func(ns *nodes) {
		w := work(1)
		ns.convict(0, w)
		ns.pass(follow)
		ns.want(w, bezoar.Quarantined, bezoar.Quarantined, bezoar.Quarantined)
		if _, d, _ := ns.all[2].Admit(w); d.Action != blame.Refuse {
			t.Errorf("another node admits it: %+v", d)
		}
		// Whoever lets go, lets go for all, and it stays so.
		v := ns.all[1].Verdicts()[0]
		if v.Reason == "" {
			t.Error("the verdict came without its reason")
		}
		if _, err := ns.all[1].Release(t.Context(), v.ID); err != nil {
			t.Fatal(err)
		}
		ns.pass(time.Minute)
		ns.want(w, "", "", "")
	})
}

// One node probes: the others refuse as long as it may take.
func TestOneNodeProbesForAll(t *testing.T) {
	together(t, 2, func(ns *nodes) {
		w := work(1)
		ns.convict(0, w)
		ns.pass(90 * time.Second)
		tk, d, _ := ns.all[1].Admit(w)
		if d.Cause != blame.ByProbe {
			t.Fatalf("after its term a copy got %+v", d)
		}
		ns.pass(follow)
		if _, d, _ := ns.all[0].Admit(w); d.Action != blame.Refuse {
			t.Errorf("while another node probes a copy got %+v", d)
		}
		ns.all[1].Opened(5000)
		ns.all[1].Begin(time.Now(), tk, &w, 5000, time.Time{}, true)
		ns.all[1].Finish(time.Now(), tk, w.Fingerprint, blame.Survived)
		ns.pass(2*time.Second + follow) // its worker has outlived the window
		ns.want(w, "", "")
	})
}

// A node that is cut off goes on with what it knows, and has the rest when it is
// back; what it decided meanwhile reaches the others.
func TestACutNodeCatchesUp(t *testing.T) {
	together(t, 2, func(ns *nodes) {
		before, there, here := work(1), work(2), work(3)
		ns.convict(0, before)
		ns.pass(follow)
		ns.wires[1].fail.Store(true)
		ns.convict(0, there)
		ns.convict(1, here)
		ns.pass(20 * time.Second)
		ns.want(before, bezoar.Quarantined, bezoar.Quarantined)
		ns.want(there, bezoar.Quarantined, "")
		ns.want(here, "", bezoar.Quarantined)
		ns.wires[1].fail.Store(false)
		ns.pass(2 * time.Second)
		for _, w := range []blame.Work{before, there, here} {
			ns.want(w, bezoar.Quarantined, bezoar.Quarantined)
		}
	})
}

// Two nodes that convict the same work at once come to hold one verdict.
func TestNodesAgreeOnOneVerdict(t *testing.T) {
	together(t, 3, func(ns *nodes) {
		w := work(1)
		ns.convict(0, w)
		ns.convict(1, w)
		ns.pass(2 * time.Second)
		ids := map[string]bool{}
		for i := range ns.all {
			vs := ns.all[i].Verdicts()
			if len(vs) != 1 {
				t.Fatalf("node %d holds %d verdicts", i, len(vs))
			}
			ids[vs[0].ID] = true
		}
		stored, err := ns.wires[0].Verdicts(t.Context(), "search")
		if err != nil || len(stored) != 1 || len(ids) != 1 || !ids[stored[0].ID] {
			t.Errorf("the nodes hold %v, the store %d: %v", ids, len(stored), err)
		}
	})
}

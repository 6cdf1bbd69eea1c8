package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/sorted"
)

type flowStore struct {
	lock     // guards the fields below; never held while waiting
	runs     map[string]*flowRun
	byKey    map[string]string // Run.Key to run
	nodes    map[string]flow.Node
	attempts []*flow.Attempt // by token - 1
	open     map[int64]*flow.Attempt
	effects  map[string]flowEffect
	orders   []flow.Order
	order    int64 // ID of the last order
}

var _ flow.Store = (*flowStore)(nil)

type flowRun struct {
	flow.Run
	all      map[instanceKey]flow.Instance
	attempts map[attemptKey]int64 // tokens of attempts
}

type flowEffect struct {
	flow.Effect
	at time.Time // time of the claim
}

type instanceKey struct {
	task  string
	index int
}

type attemptKey struct {
	instanceKey
	n int
}

func newFlowStore() *flowStore {
	return &flowStore{
		runs: make(map[string]*flowRun), byKey: make(map[string]string), nodes: make(map[string]flow.Node),
		open: make(map[int64]*flow.Attempt), effects: make(map[string]flowEffect),
	}
}

func (s *flowStore) CreateRun(ctx context.Context, r flow.Run, all []flow.Instance) error {
	return locked(ctx, &s.lock, func() error {
		if id, ok := s.byKey[r.Key]; ok && r.Key != "" {
			return fmt.Errorf("run with key %.80q is %s: %w", r.Key, id, flow.ErrExists)
		}
		if s.runs[r.ID] != nil {
			return fmt.Errorf("run %.80q: %w", r.ID, flow.ErrExists)
		}
		r.Owner, r.Epoch = "", 0
		run := &flowRun{Run: flow.CloneRun(r), all: make(map[instanceKey]flow.Instance, len(all)), attempts: make(map[attemptKey]int64)}
		for _, i := range all {
			run.all[instanceKey{i.Task, i.Index}] = flow.CloneInstance(i)
		}
		s.runs[r.ID] = run
		if r.Key != "" {
			s.byKey[r.Key] = r.ID
		}
		return nil
	})
}

func (s *flowStore) find(id string) (*flowRun, error) {
	if r := s.runs[id]; r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("run %.80q: %w", id, flow.ErrNotFound)
}

func (s *flowStore) Run(ctx context.Context, id string) (flow.Run, error) {
	return within(ctx, &s.lock, func() (flow.Run, error) {
		r, err := s.find(id)
		if err != nil {
			return flow.Run{}, err
		}
		return flow.CloneRun(r.Run), nil
	})
}

func (s *flowStore) ListRuns(ctx context.Context, q flow.RunQuery) ([]flow.Run, error) {
	return within(ctx, &s.lock, func() ([]flow.Run, error) {
		var out []flow.Run
		for _, id := range slices.Backward(slices.Sorted(maps.Keys(s.runs))) {
			r := s.runs[id].Run
			if q.Flow != "" && r.Flow != q.Flow || q.State != "" && r.State != q.State || q.Backfill != "" && r.Backfill != q.Backfill ||
				q.Key != "" && r.Key != q.Key || q.Before != "" && r.ID >= q.Before {
				continue
			}
			r.Definition = flow.Definition{}
			if out = append(out, flow.CloneRun(r)); len(out) == q.Most() {
				break
			}
		}
		return out, nil
	})
}

func (s *flowStore) Instances(ctx context.Context, run string) ([]flow.Instance, error) {
	return within(ctx, &s.lock, func() ([]flow.Instance, error) {
		r, err := s.find(run)
		if err != nil {
			return nil, err
		}
		out := make([]flow.Instance, 0, len(r.all))
		for _, i := range r.all {
			out = append(out, flow.CloneInstance(i))
		}
		sorted.Func(out, func(a, b flow.Instance) int {
			return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Index, b.Index))
		})
		return out, nil
	})
}

func (s *flowStore) Order(ctx context.Context, o flow.Order) error {
	return locked(ctx, &s.lock, func() error {
		r, err := s.find(o.Run)
		if err != nil {
			return err
		}
		if r.State.Over() {
			if !r.State.Reopens(o.Verb) {
				return fmt.Errorf("%s run %s, which is %s: %w", o.Verb, o.Run, r.State, flow.ErrOver)
			}
			r.State, r.Owner, r.Ended = flow.RunRunning, "", time.Time{}
			r.Version++
		}
		s.order++
		o.ID, o.At, o.Set = s.order, time.Now().UTC().Truncate(time.Microsecond), maps.Clone(o.Set)
		s.orders = append(s.orders, o)
		return nil
	})
}

func (s *flowStore) Orders(ctx context.Context, node string) ([]flow.Order, error) {
	return within(ctx, &s.lock, func() ([]flow.Order, error) {
		var out []flow.Order
		for _, o := range s.orders {
			if s.runs[o.Run].Owner == node {
				o.Set = maps.Clone(o.Set)
				out = append(out, o)
			}
		}
		return out, nil
	})
}

func (s *flowStore) Forget(ctx context.Context, age time.Duration, limit int) (int, error) {
	return within(ctx, &s.lock, func() (int, error) {
		before := time.Now().Add(-age)
		var over []*flowRun
		for _, r := range s.runs {
			if r.State.Over() && r.Ended.Before(before) {
				over = append(over, r)
			}
		}
		sorted.Func(over, func(a, b *flowRun) int { return a.Ended.Compare(b.Ended) })
		over = over[:min(len(over), limit)]
		for _, r := range over {
			for _, token := range r.attempts {
				s.attempts[token-1] = nil
			}
			s.orders = slices.DeleteFunc(s.orders, func(o flow.Order) bool { return o.Run == r.ID })
			delete(s.byKey, r.Key)
			delete(s.runs, r.ID)
		}
		return len(over), nil
	})
}

func (s *flowStore) ForgetEffects(ctx context.Context, age time.Duration, limit int) (int, error) {
	return within(ctx, &s.lock, func() (n int, err error) {
		before := time.Now().Add(-age)
		var old []flowEffect
		for _, e := range s.effects {
			if s.runs[e.Run] == nil && e.at.Before(before) {
				old = append(old, e)
			}
		}
		sorted.Func(old, func(a, b flowEffect) int { return a.at.Compare(b.at) })
		old = old[:min(len(old), limit)]
		for _, e := range old {
			delete(s.effects, e.Key)
		}
		return len(old), nil
	})
}

package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
)

func (s *flowStore) Renew(ctx context.Context, n flow.Node, ttl time.Duration) (flow.Node, error) {
	return within(ctx, &s.lock, func() (flow.Node, error) {
		now := time.Now().UTC()
		was := s.nodes[n.Name]
		if n.Epoch != 0 && n.Epoch != was.Epoch {
			return flow.Node{}, fmt.Errorf("renew the lease of %.80q: %w", n.Name, flow.ErrFenced)
		}
		if n.Epoch == 0 || !now.Before(was.Until) {
			n.Epoch = was.Epoch + 1
			s.free(n.Name)
		}
		n.Labels, n.Seen, n.Until = slices.Clone(n.Labels), now, now.Add(ttl)
		s.nodes[n.Name] = n
		n.Labels = slices.Clone(n.Labels)
		return n, nil
	})
}

// free has a node hold no run any more.
func (s *flowStore) free(node string) {
	for _, r := range s.runs {
		if r.Owner == node {
			r.Owner = ""
		}
	}
}

// current says whether a node is in the life that epoch names, and its lease is
// not over.
func (s *flowStore) current(node string, epoch int64) error {
	if n := s.nodes[node]; n.Epoch != epoch || !s.alive(node) {
		return fmt.Errorf("node %.80q, epoch %d: %w", node, epoch, flow.ErrFenced)
	}
	return nil
}

func (s *flowStore) alive(node string) bool { return time.Now().Before(s.nodes[node].Until) }

func (s *flowStore) Leave(ctx context.Context, n flow.Node) error {
	return locked(ctx, &s.lock, func() error {
		if was := s.nodes[n.Name]; was.Epoch == n.Epoch {
			was.Until = time.Now().UTC()
			s.nodes[n.Name] = was
			s.free(n.Name)
		}
		return nil
	})
}

func (s *flowStore) ListNodes(ctx context.Context) ([]flow.Node, error) {
	return within(ctx, &s.lock, func() ([]flow.Node, error) {
		out := make([]flow.Node, 0, len(s.nodes))
		for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
			n := s.nodes[name]
			n.Labels = slices.Clone(n.Labels)
			out = append(out, n)
		}
		return out, nil
	})
}

func (s *flowStore) Take(ctx context.Context, n flow.Node, most int) ([]flow.Run, error) {
	return within(ctx, &s.lock, func() ([]flow.Run, error) {
		if err := s.current(n.Name, n.Epoch); err != nil {
			return nil, err
		}
		for _, a := range s.open {
			if a.Node != "" && a.State != flow.AttemptLost && !s.alive(a.Node) {
				a.State = flow.AttemptLost
			}
		}
		var out []flow.Run
		for _, id := range slices.Sorted(maps.Keys(s.runs)) {
			r := s.runs[id]
			if len(out) == most {
				break
			}
			if r.State.Over() && !r.Untold() || r.Owner != "" && s.alive(r.Owner) {
				continue
			}
			r.Owner = n.Name
			r.Epoch++
			r.Version++
			out = append(out, flow.CloneRun(r.Run))
		}
		return out, nil
	})
}

func (s *flowStore) Offers(ctx context.Context, n flow.Node, most int) ([]flow.Attempt, error) {
	return within(ctx, &s.lock, func() ([]flow.Attempt, error) {
		if err := s.current(n.Name, n.Epoch); err != nil {
			return nil, err
		}
		var out []flow.Attempt
		for _, token := range slices.Sorted(maps.Keys(s.open)) {
			a := s.open[token]
			if len(out) == most {
				break
			}
			if a.Node == "" && a.State == flow.AttemptIntended && a.Stop == nil && flow.HasAll(n.Labels, a.Labels) {
				a.Node = n.Name
				out = append(out, flow.CloneAttempt(*a))
			}
		}
		return out, nil
	})
}

func (s *flowStore) Report(ctx context.Context, n flow.Node, all []flow.Attempt) error {
	return locked(ctx, &s.lock, func() error {
		if err := s.current(n.Name, n.Epoch); err != nil {
			return err
		}
		for _, a := range all {
			if was := s.open[a.Token]; was != nil && was.Node == n.Name && was.State != flow.AttemptLost {
				s.change(was, a)
			}
		}
		return nil
	})
}

func (s *flowStore) ListAttempts(ctx context.Context, q flow.AttemptQuery) ([]flow.Attempt, error) {
	return within(ctx, &s.lock, func() ([]flow.Attempt, error) {
		var out []flow.Attempt
		for _, a := range s.attempts[min(max(q.After, 0), int64(len(s.attempts))):] {
			if a == nil {
				continue // forgotten
			}
			over := a.State == flow.AttemptEnded
			if q.Run != "" && a.Run != q.Run || q.Task != "" && (a.Task != q.Task || q.Index >= 0 && a.Index != q.Index) ||
				q.Open && over || q.Node != "" && (over || a.Node != q.Node) {
				continue
			}
			if out = append(out, flow.CloneAttempt(*a)); len(out) == q.Most() {
				break
			}
		}
		return out, nil
	})
}

package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

// history holds the changes of one fleet's verdicts.
type history struct {
	revision int64
	put      map[string]int64 // revisions of existing verdicts, by ID
	ends     []ending         // deleted verdicts, oldest first
}

type ending struct {
	id       string
	revision int64
}

// historyOf returns the fleet's history, and creates it if necessary. The caller holds mu.
func (s *ledgerStore) historyOf(fleet string) *history {
	h := s.histories[fleet]
	if h == nil {
		h = &history{put: map[string]int64{}}
		s.histories[fleet] = h
	}
	return h
}

func (h *history) noted(id string) {
	h.revision++
	h.put[id] = h.revision
}

func (h *history) ended(id string) {
	h.revision++
	delete(h.put, id)
	h.ends = append(h.ends, ending{id, h.revision})
	if len(h.ends) > 2*ledger.RememberDeleted {
		h.ends = slices.Clone(h.ends[ledger.RememberDeleted:])
	}
}

func (s *ledgerStore) Changes(ctx context.Context, fleet string, since int64) (ledger.Changes, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return ledger.Changes{}, err
	}
	h := s.histories[fleet]
	if h == nil {
		return ledger.Changes{All: true}, nil
	}
	if since > h.revision || h.revision-since > ledger.RememberDeleted {
		since = 0
	}
	c := ledger.Changes{Revision: h.revision, All: since == 0}
	for id, revision := range h.put {
		if revision > since {
			c.Put = append(c.Put, record.CloneVerdict(s.verdicts[id]))
		}
	}
	sorted.Func(c.Put, func(a, b bezoar.Verdict) int { return cmp.Compare(h.put[a.ID], h.put[b.ID]) })
	for _, e := range h.ends {
		if _, again := h.put[e.id]; e.revision > since && !c.All && !again {
			c.Deleted = append(c.Deleted, e.id)
		}
	}
	slices.Sort(c.Deleted)
	c.Deleted = slices.Compact(c.Deleted)
	return c, nil
}

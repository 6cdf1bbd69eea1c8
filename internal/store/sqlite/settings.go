package sqlite

import (
	"context"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/store/tables"
)

// settingsStore keeps the nodes' reports in memory: only one process uses the file, and all
// nodes are its own.
type settingsStore struct {
	tables.Settings
	nodes live.Presence
	now   func() time.Time // clock of the reports; time.Now except in tests
}

var _ live.Store = (*settingsStore)(nil)

func (s *settingsStore) PutNode(ctx context.Context, n live.Node, ttl time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.nodes.Put(s.now(), n, ttl)
}

func (s *settingsStore) Nodes(ctx context.Context) ([]live.Node, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.nodes.List(s.now()), nil
}

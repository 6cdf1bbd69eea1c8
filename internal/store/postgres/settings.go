package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/internal/store/tables"
)

// settingsStore keeps the nodes' reports in a table, because each node is another process.
type settingsStore struct {
	tables.Settings
	db     *DB
	schema string
}

var _ live.Store = (*settingsStore)(nil)

func (s *settingsStore) in(statement string) string { return inSchema(s.schema, statement) }

func (s *settingsStore) PutNode(ctx context.Context, n live.Node, ttl time.Duration) error {
	if err := live.CheckPresence(n, ttl); err != nil {
		return fmt.Errorf("put node %.80q: %w", n.Name, err)
	}
	_, err := s.db.pool.Exec(ctx, s.in(`INSERT INTO {schema}.settings_nodes (name, running, sum, wanted, error, overrides, since, seen, until)
		SELECT $1, $2, $3, $4, $5, $6, $7, t.now, t.now + $8::bigint FROM (SELECT `+clock+` AS now) t
		ON CONFLICT (name) DO UPDATE SET running = excluded.running, sum = excluded.sum, wanted = excluded.wanted, error = excluded.error,
			overrides = excluded.overrides, since = excluded.since, seen = excluded.seen, until = excluded.until`),
		n.Name, n.Running, n.Sum, n.Wanted, n.Error, n.Overrides, n.Since.UnixMicro(), ttl.Microseconds())
	if err != nil {
		return s.db.fault(ctx, err, "put node %s", n.Name)
	}
	// Expired nodes are removed in a separate statement: two returning nodes would each
	// lock the row that the other removes.
	_, err = s.db.pool.Exec(ctx, s.in(`DELETE FROM {schema}.settings_nodes n USING (
			SELECT name FROM {schema}.settings_nodes WHERE until <= `+clock+` LIMIT 100 FOR UPDATE SKIP LOCKED
		) o WHERE n.name = o.name`))
	return s.db.fault(ctx, err, "remove nodes that are gone")
}

func (s *settingsStore) Nodes(ctx context.Context) ([]live.Node, error) {
	q := query{s.in(`SELECT name, running, sum, wanted, error, overrides, since, seen FROM {schema}.settings_nodes WHERE until > ` + clock), nil}
	q.add("ORDER BY name LIMIT $?", live.MaxNodes)
	found, err := collect(ctx, s.db, q, func(row pgx.CollectableRow) (n live.Node, err error) {
		var since, seen int64
		err = row.Scan(&n.Name, &n.Running, &n.Sum, &n.Wanted, &n.Error, &n.Overrides, &since, &seen)
		n.Since, n.Seen = time.UnixMicro(since).UTC(), record.Time(seen)
		return n, err
	})
	return found, s.db.fault(ctx, err, "list nodes")
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

const overrideColumns = `id, route, caller, plan, what, factor, value, since, until, who, reason, class, predictor, target`

func (s *settingsStore) PutOverride(ctx context.Context, o live.Override, ttl time.Duration) (live.Override, error) {
	if err := live.CheckOverride(o, ttl); err != nil {
		return live.Override{}, fmt.Errorf("put override: %w", err)
	}
	var since int64
	err := s.change(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, s.in(`DELETE FROM {schema}.settings_overrides WHERE until <= `+clock+`
			OR (route = $1 AND caller = $2 AND plan = $3 AND what = $4
				AND class = $5 AND predictor = $6 AND target = $7)`), o.Route, o.Caller, o.Plan, o.What, o.Class, o.Predictor, o.Index)
		if err != nil {
			return err
		}
		var n int
		if err := tx.QueryRow(ctx, s.in(`SELECT count(*) FROM {schema}.settings_overrides`)).Scan(&n); err != nil {
			return err
		}
		if n >= live.MaxOverrides {
			return fmt.Errorf("%d overrides are in force: %w", n, live.ErrFull)
		}
		return tx.QueryRow(ctx, s.in(`INSERT INTO {schema}.settings_overrides (`+overrideColumns+`)
			SELECT $1, $2, $3, $4, $5, $6, $7, t.now, t.now + $8::bigint, $9, $10, $11, $12, $13 FROM (SELECT `+clock+` AS now) t RETURNING since`),
			o.ID, o.Route, o.Caller, o.Plan, o.What, o.Factor, o.Value, ttl.Microseconds(), o.By, o.Reason,
			o.Class, o.Predictor, o.Index).Scan(&since)
	})
	if isUniqueViolation(err) {
		return live.Override{}, fmt.Errorf("put override %s: the ID belongs to another override", o.ID)
	}
	if errors.Is(err, live.ErrFull) {
		return live.Override{}, fmt.Errorf("put override %s: %w", o.ID, err)
	}
	if err != nil {
		return live.Override{}, s.db.fault(ctx, err, "put override %s", o.ID)
	}
	o.Since, o.Until = record.Time(since), record.Time(since+ttl.Microseconds())
	return o, nil
}

func (s *settingsStore) DeleteOverride(ctx context.Context, id string) error {
	if !plain(id) {
		return errors.Join(ctx.Err(), fmt.Errorf("delete override %.80q: %w", id, live.ErrNotFound))
	}
	err := s.change(ctx, func(tx pgx.Tx) error {
		gone, err := tx.Exec(ctx, s.in(`DELETE FROM {schema}.settings_overrides WHERE id = $1 AND until > `+clock), id)
		if err == nil && gone.RowsAffected() == 0 {
			err = errKeep
		}
		return err
	})
	if errors.Is(err, errKeep) {
		return fmt.Errorf("delete override %.80q: %w", id, live.ErrNotFound)
	}
	return s.db.fault(ctx, err, "delete override %.80q", id)
}

// Overrides reads the overrides and the time in one statement, so that no expired override
// is listed.
func (s *settingsStore) Overrides(ctx context.Context) ([]live.Override, time.Time, error) {
	q := query{s.in(`SELECT t.now, o.id, coalesce(route, ''), coalesce(caller, ''), coalesce(plan, ''), coalesce(what, ''), coalesce(factor, 0),
			coalesce(value, ''), coalesce(since, 0), coalesce(until, 0), coalesce(who, ''), coalesce(reason, ''),
			coalesce(class, ''), coalesce(predictor, ''), coalesce(target, '')
		FROM (SELECT ` + clock + ` AS now OFFSET 0) t LEFT JOIN {schema}.settings_overrides o ON o.until > t.now ORDER BY o.since, o.id`), nil}
	var now int64
	found, err := collect(ctx, s.db, q, func(row pgx.CollectableRow) (o live.Override, err error) {
		var id *string // nil: there are no overrides
		var since, until int64
		err = row.Scan(&now, &id, &o.Route, &o.Caller, &o.Plan, &o.What, &o.Factor, &o.Value, &since, &until, &o.By, &o.Reason,
			&o.Class, &o.Predictor, &o.Index)
		if id != nil {
			o.ID = *id
		}
		o.Since, o.Until = record.Time(since), record.Time(until)
		return o, err
	})
	if err != nil {
		return nil, time.Time{}, s.db.fault(ctx, err, "list overrides")
	}
	if len(found) == 1 && found[0].ID == "" {
		found = nil
	}
	return found, record.Time(now), nil
}

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

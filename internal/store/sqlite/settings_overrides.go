package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

const (
	expireOverrides = `DELETE FROM settings_overrides WHERE until <= ?`
	replaceOverride = `DELETE FROM settings_overrides WHERE route = ? AND caller = ? AND plan = ? AND what = ?
		AND class = ? AND predictor = ? AND target = ?`
	countOverrides  = `SELECT count(*) FROM settings_overrides`
	putOverride     = `INSERT INTO settings_overrides (` + overrideColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	overrideColumns = `id, route, caller, plan, what, factor, value, since, until, who, reason, class, predictor, target`
	listOverrides   = `SELECT ` + overrideColumns + ` FROM settings_overrides WHERE until > ? ORDER BY since, id`
	deleteOverride  = `DELETE FROM settings_overrides WHERE id = ?`
)

func (s *settingsStore) PutOverride(ctx context.Context, o live.Override, ttl time.Duration) (live.Override, error) {
	if err := live.CheckOverride(o, ttl); err != nil {
		return live.Override{}, fmt.Errorf("put override: %w", err)
	}
	var now int64
	err := s.db.writer.run(ctx, func(t tx) error {
		now = time.Now().UnixMicro()
		if err := t.exec(expireOverrides, now); err != nil {
			return err
		}
		if err := t.exec(replaceOverride, o.Route, o.Caller, o.Plan, o.What, o.Class, o.Predictor, o.Index); err != nil {
			return err
		}
		var n int
		if err := t.row(countOverrides, nil, &n); err != nil {
			return err
		}
		if n >= live.MaxOverrides {
			return fmt.Errorf("%d overrides are in force: %w", n, live.ErrFull)
		}
		err := t.exec(putOverride, o.ID, o.Route, o.Caller, o.Plan, o.What, o.Factor, o.Value,
			now, now+ttl.Microseconds(), o.By, o.Reason, o.Class, o.Predictor, o.Index)
		if err != nil {
			return err
		}
		return t.exec(bumpRevision)
	})
	if isUniqueViolation(err) {
		return live.Override{}, fmt.Errorf("put override %s: the ID belongs to another override", o.ID)
	}
	if err != nil {
		return live.Override{}, s.db.fault(ctx, err, "put override %s", o.ID)
	}
	o.Since, o.Until = record.Time(now), record.Time(now+ttl.Microseconds())
	return o, nil
}

func (s *settingsStore) DeleteOverride(ctx context.Context, id string) error {
	var n int64
	err := s.db.writer.run(ctx, func(t tx) (err error) {
		if err := t.exec(expireOverrides, time.Now().UnixMicro()); err != nil {
			return err
		}
		if n, err = t.changed(deleteOverride, id); err != nil || n == 0 {
			return err
		}
		return t.exec(bumpRevision)
	})
	if err != nil {
		return s.db.fault(ctx, err, "delete override %.80q", id)
	}
	if n == 0 {
		return fmt.Errorf("delete override %.80q: %w", id, live.ErrNotFound)
	}
	return nil
}

func (s *settingsStore) Overrides(ctx context.Context) ([]live.Override, time.Time, error) {
	now := time.Now().UnixMicro()
	var q query
	q.add(listOverrides, now)
	var found []live.Override
	err := q.each(ctx, s.db.reader, func(rows *sql.Rows) error {
		var o live.Override
		var since, until int64
		err := rows.Scan(&o.ID, &o.Route, &o.Caller, &o.Plan, &o.What, &o.Factor, &o.Value, &since, &until, &o.By, &o.Reason,
			&o.Class, &o.Predictor, &o.Index)
		o.Since, o.Until = record.Time(since), record.Time(until)
		found = append(found, o)
		return err
	})
	if err != nil {
		return nil, time.Time{}, s.db.fault(ctx, err, "list overrides")
	}
	return found, record.Time(now), nil
}

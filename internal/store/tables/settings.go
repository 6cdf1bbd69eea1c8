package tables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

// Settings keeps versions of the settings, and overrides: all of a [live.Store] but the nodes'
// reports.
type Settings struct{ DB }

// errKeep ends a transaction without a change.
var errKeep = errors.New("nothing changes")

// change runs f in a transaction that locks the revision's row. So changes are serialized, and a
// reader of the new revision sees them.
func (s Settings) change(ctx context.Context, f func(Tx) error) error {
	return s.Change(ctx, func(t Tx) error {
		if _, err := t.Exec(`UPDATE {schema}.settings_state SET revision = revision + 1 WHERE id = 1`); err != nil {
			return err
		}
		return f(t)
	})
}

func scanNumber(scan record.Scan) (n int64, err error) {
	err = scan(&n)
	return n, err
}

// Revision implements [live.Store].
func (s Settings) Revision(ctx context.Context) (int64, error) {
	revision, err := readRow(ctx, s, `SELECT revision FROM {schema}.settings_state WHERE id = 1`, nil, scanNumber)
	return revision, s.Fault(ctx, err, "read the revision of the settings")
}

// PutVersion implements [live.Store].
func (s Settings) PutVersion(ctx context.Context, base int64, v live.Version) (live.Version, error) {
	if err := v.Validate(); err != nil {
		return live.Version{}, fmt.Errorf("put version: %w", err)
	}
	body := v.Text
	if body == nil {
		body = []byte{}
	}
	var newest, at int64
	err := s.change(ctx, func(t Tx) error {
		if err := row(t, `SELECT coalesce(max(number), 0) FROM {schema}.settings_versions`, nil, &newest); err != nil {
			return err
		}
		if newest != base {
			return errKeep
		}
		err := row(t, `INSERT INTO {schema}.settings_versions (number, at, who, source, note, sum, body)
			VALUES ($1, {now}, $2, $3, $4, $5, $6) RETURNING at`, []any{base + 1, v.By, v.Source, v.Note, v.Sum, body}, &at)
		if err != nil {
			return err
		}
		_, err = t.Exec(`DELETE FROM {schema}.settings_versions WHERE number <= $1
			AND number <> coalesce((SELECT max(number) FROM {schema}.settings_versions WHERE source = $2), 0)`, base+1-live.KeepVersions, live.FromFile)
		return err
	})
	if errors.Is(err, errKeep) {
		return live.Version{}, fmt.Errorf("put version on %d: the newest is %d: %w", base, newest, live.ErrConflict)
	}
	if err != nil {
		return live.Version{}, s.Fault(ctx, err, "put version on %d", base)
	}
	v.Number, v.At, v.Text = base+1, record.Time(at), append([]byte(nil), v.Text...)
	return v, nil
}

// Version implements [live.Store].
func (s Settings) Version(ctx context.Context, number int64) (live.Version, error) {
	v, err := readRow(ctx, s, `SELECT `+record.VersionColumns+`, body FROM {schema}.settings_versions
		WHERE number = $1 OR $1 = 0 ORDER BY number DESC LIMIT 1`, []any{number}, record.ScanWholeVersion)
	if errors.Is(err, sql.ErrNoRows) {
		return live.Version{}, fmt.Errorf("version %d: %w", number, live.ErrNotFound)
	}
	if err != nil {
		return live.Version{}, s.Fault(ctx, err, "read version %d", number)
	}
	return v, nil
}

// Versions implements [live.Store].
func (s Settings) Versions(ctx context.Context, limit int) ([]live.Version, error) {
	if err := live.CheckLimit(limit); err != nil {
		return nil, err
	}
	q := query{`SELECT ` + record.VersionColumns + ` FROM {schema}.settings_versions ORDER BY number DESC LIMIT $1`, []any{limit}}
	found, err := collect(ctx, s, q, record.ScanVersion)
	return found, s.Fault(ctx, err, "list versions")
}

// PutOverride implements [live.Store].
func (s Settings) PutOverride(ctx context.Context, o live.Override, ttl time.Duration) (live.Override, error) {
	if err := live.CheckOverride(o, ttl); err != nil {
		return live.Override{}, fmt.Errorf("put override: %w", err)
	}
	var since int64
	err := s.change(ctx, func(t Tx) error {
		_, err := t.Exec(`DELETE FROM {schema}.settings_overrides WHERE until <= {now} OR (route = $1 AND caller = $2 AND plan = $3 AND what = $4
			AND class = $5 AND predictor = $6 AND target = $7)`, o.Route, o.Caller, o.Plan, o.What, o.Class, o.Predictor, o.Index)
		if err != nil {
			return err
		}
		var n int
		if err := row(t, `SELECT count(*) FROM {schema}.settings_overrides`, nil, &n); err != nil {
			return err
		}
		if n >= live.MaxOverrides {
			return fmt.Errorf("%d overrides are in force: %w", n, live.ErrFull)
		}
		return row(t, `INSERT INTO {schema}.settings_overrides (id, route, caller, plan, what, factor, value, since, until, who, reason, class, predictor, target)
			SELECT $1, $2, $3, $4, $5, $6, $7, t.now, t.now + $8, $9, $10, $11, $12, $13 FROM (SELECT {now} AS now) t RETURNING since`,
			[]any{
				o.ID, o.Route, o.Caller, o.Plan, o.What, o.Factor, o.Value, ttl.Microseconds(), o.By, o.Reason, o.Class, o.Predictor, o.Index,
			}, &since)
	})
	if s.IsUnique(err) {
		return live.Override{}, fmt.Errorf("put override %s: the ID belongs to another override", o.ID)
	}
	if errors.Is(err, live.ErrFull) {
		return live.Override{}, fmt.Errorf("put override %s: %w", o.ID, err)
	}
	if err != nil {
		return live.Override{}, s.Fault(ctx, err, "put override %s", o.ID)
	}
	o.Since, o.Until = record.Time(since), record.Time(since+ttl.Microseconds())
	return o, nil
}

// DeleteOverride implements [live.Store].
func (s Settings) DeleteOverride(ctx context.Context, id string) error {
	if !plain(id) {
		return errors.Join(ctx.Err(), fmt.Errorf("delete override %.80q: %w", id, live.ErrNotFound))
	}
	err := s.change(ctx, func(t Tx) error {
		gone, err := t.Exec(`DELETE FROM {schema}.settings_overrides WHERE id = $1 AND until > {now}`, id)
		if err == nil && gone == 0 {
			err = errKeep
		}
		return err
	})
	if errors.Is(err, errKeep) {
		return fmt.Errorf("delete override %.80q: %w", id, live.ErrNotFound)
	}
	return s.Fault(ctx, err, "delete override %.80q", id)
}

// Overrides reads the overrides and the time in one statement, so that no expired override is
// listed.
func (s Settings) Overrides(ctx context.Context) ([]live.Override, time.Time, error) {
	q := query{text: `SELECT t.now, coalesce(o.id, ''), coalesce(route, ''), coalesce(caller, ''), coalesce(plan, ''), coalesce(what, ''), coalesce(factor, 0),
			coalesce(value, ''), coalesce(since, 0), coalesce(until, 0), coalesce(who, ''), coalesce(reason, ''),
			coalesce(class, ''), coalesce(predictor, ''), coalesce(target, '')
		FROM (SELECT {now} AS now LIMIT 1) t LEFT JOIN {schema}.settings_overrides o ON o.until > t.now ORDER BY o.since, o.id`}
	var now int64
	found, err := collect(ctx, s, q, func(scan record.Scan) (o live.Override, err error) {
		var since, until int64
		err = scan(&now, &o.ID, &o.Route, &o.Caller, &o.Plan, &o.What, &o.Factor, &o.Value, &since, &until, &o.By, &o.Reason,
			&o.Class, &o.Predictor, &o.Index)
		o.Since, o.Until = record.Time(since), record.Time(until)
		return o, err
	})
	if err != nil {
		return nil, time.Time{}, s.Fault(ctx, err, "list overrides")
	}
	if len(found) == 1 && found[0].ID == "" {
		found = nil // there are no overrides
	}
	return found, record.Time(now), nil
}

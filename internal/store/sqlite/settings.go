package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

// settingsStore keeps the nodes' reports in memory: only one process uses the file, and all
// nodes are its own.
type settingsStore struct {
	db    *DB
	nodes live.Presence
	now   func() time.Time // clock of the reports; time.Now except in tests
}

var _ live.Store = (*settingsStore)(nil)

const (
	newestVersion = `SELECT coalesce(max(number), 0) FROM settings_versions`
	putVersion    = `INSERT INTO settings_versions (number, at, who, source, note, sum, body) VALUES (?, ?, ?, ?, ?, ?, ?)`
	pruneVersions = `DELETE FROM settings_versions WHERE number <= ?
		AND number <> coalesce((SELECT max(number) FROM settings_versions WHERE source = ?), 0)`
	getVersion = `SELECT ` + record.VersionColumns + `, body FROM settings_versions
		WHERE number = CASE WHEN ?1 = 0 THEN (SELECT max(number) FROM settings_versions) ELSE ?1 END`
	listVersions = `SELECT ` + record.VersionColumns + ` FROM settings_versions ORDER BY number DESC LIMIT ?`
	bumpRevision = `UPDATE settings_state SET revision = revision + 1`
	getRevision  = `SELECT revision FROM settings_state WHERE id = 1`
)

func (s *settingsStore) Revision(ctx context.Context) (revision int64, err error) {
	err = s.db.reader.QueryRowContext(ctx, getRevision).Scan(&revision)
	return revision, s.db.fault(ctx, err, "read the revision of the settings")
}

func (s *settingsStore) PutVersion(ctx context.Context, base int64, v live.Version) (live.Version, error) {
	if err := v.Validate(); err != nil {
		return live.Version{}, fmt.Errorf("put version: %w", err)
	}
	body := v.Text
	if body == nil {
		body = []byte{}
	}
	var newest, now int64
	err := s.db.writer.run(ctx, func(t tx) error {
		now = time.Now().UnixMicro()
		if err := t.row(newestVersion, nil, &newest); err != nil || newest != base {
			return err
		}
		if err := t.exec(putVersion, base+1, now, v.By, v.Source, v.Note, v.Sum, body); err != nil {
			return err
		}
		if err := t.exec(pruneVersions, base+1-live.KeepVersions, live.FromFile); err != nil {
			return err
		}
		return t.exec(bumpRevision)
	})
	if err != nil {
		return live.Version{}, s.db.fault(ctx, err, "put version on %d", base)
	}
	if newest != base {
		return live.Version{}, fmt.Errorf("put version on %d: the newest is %d: %w", base, newest, live.ErrConflict)
	}
	v.Number, v.At, v.Text = base+1, record.Time(now), append([]byte(nil), v.Text...)
	return v, nil
}

func (s *settingsStore) Version(ctx context.Context, number int64) (live.Version, error) {
	v, err := record.ScanWholeVersion(s.db.reader.QueryRowContext(ctx, getVersion, number).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return live.Version{}, fmt.Errorf("version %d: %w", number, live.ErrNotFound)
	}
	if err != nil {
		return live.Version{}, s.db.fault(ctx, err, "read version %d", number)
	}
	return v, nil
}

func (s *settingsStore) Versions(ctx context.Context, limit int) ([]live.Version, error) {
	if err := live.CheckLimit(limit); err != nil {
		return nil, err
	}
	var q query
	q.add(listVersions, limit)
	found, err := collect(ctx, s.db.reader, &q, record.ScanVersion)
	return found, s.db.fault(ctx, err, "list versions")
}

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

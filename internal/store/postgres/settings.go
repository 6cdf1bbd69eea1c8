package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

type settingsStore struct {
	db     *DB
	schema string
	// getRevision is called very often, so it is prepared.
	getRevision string
}

var _ live.Store = (*settingsStore)(nil)

func newSettingsStore(db *DB, schema string) *settingsStore {
	return &settingsStore{db: db, schema: schema, getRevision: inSchema(schema, `SELECT revision FROM {schema}.settings_state WHERE id = 1`)}
}

func (s *settingsStore) in(statement string) string { return inSchema(s.schema, statement) }

func (s *settingsStore) Revision(ctx context.Context) (revision int64, err error) {
	err = s.db.pool.QueryRow(ctx, s.getRevision).Scan(&revision)
	return revision, s.db.fault(ctx, err, "read the revision of the settings")
}

// errKeep ends a transaction without a change.
var errKeep = errors.New("nothing changes")

// change runs f in a transaction that locks the revision's row. So changes are serialized,
// and a reader of the new revision sees them.
func (s *settingsStore) change(ctx context.Context, f func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.db.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, s.in(`UPDATE {schema}.settings_state SET revision = revision + 1 WHERE id = 1`)); err != nil {
			return err
		}
		return f(tx)
	})
}

func (s *settingsStore) PutVersion(ctx context.Context, base int64, v live.Version) (live.Version, error) {
	if err := v.Validate(); err != nil {
		return live.Version{}, fmt.Errorf("put version: %w", err)
	}
	body := v.Text
	if body == nil {
		body = []byte{}
	}
	var newest, at int64
	err := s.change(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, s.in(`SELECT coalesce(max(number), 0) FROM {schema}.settings_versions`)).Scan(&newest)
		if err != nil {
			return err
		}
		if newest != base {
			return errKeep
		}
		err = tx.QueryRow(ctx, s.in(`INSERT INTO {schema}.settings_versions (number, at, who, source, note, sum, body)
			VALUES ($1, `+clock+`, $2, $3, $4, $5, $6) RETURNING at`), base+1, v.By, v.Source, v.Note, v.Sum, body).Scan(&at)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, s.in(`DELETE FROM {schema}.settings_versions WHERE number <= $1
			AND number <> coalesce((SELECT max(number) FROM {schema}.settings_versions WHERE source = $2), 0)`), base+1-live.KeepVersions, live.FromFile)
		return err
	})
	if errors.Is(err, errKeep) {
		return live.Version{}, fmt.Errorf("put version on %d: the newest is %d: %w", base, newest, live.ErrConflict)
	}
	if err != nil {
		return live.Version{}, s.db.fault(ctx, err, "put version on %d", base)
	}
	v.Number, v.At, v.Text = base+1, record.Time(at), append([]byte(nil), v.Text...)
	return v, nil
}

func (s *settingsStore) Version(ctx context.Context, number int64) (live.Version, error) {
	q := query{s.in(`SELECT ` + record.VersionColumns + `, body FROM {schema}.settings_versions`), nil}
	if number != 0 {
		q.add("WHERE number = $?", number)
	}
	q.text += " ORDER BY number DESC LIMIT 1"
	v, err := record.ScanWholeVersion(s.db.pool.QueryRow(ctx, q.text, q.args...).Scan)
	if errors.Is(err, pgx.ErrNoRows) {
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
	q := query{s.in(`SELECT ` + record.VersionColumns + ` FROM {schema}.settings_versions`), nil}
	q.add("ORDER BY number DESC LIMIT $?", limit)
	found, err := collect(ctx, s.db, q, by(record.ScanVersion))
	return found, s.db.fault(ctx, err, "list versions")
}

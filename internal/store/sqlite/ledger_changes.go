package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

const (
	nextRevision = `INSERT INTO verdict_revisions (fleet, revision) VALUES (?, 1)
		ON CONFLICT (fleet) DO UPDATE SET revision = revision + 1 RETURNING revision`
	fleetOfVerdict = `SELECT fleet FROM verdicts WHERE id = ?`
	endVerdict     = `INSERT INTO verdict_ends (fleet, revision, id) VALUES (?, ?, ?)`
	pruneEnds      = `DELETE FROM verdict_ends WHERE fleet = ? AND revision <= ?`

	// One statement reads one consistent state of the file.
	listChanges = `SELECT 'revision' AS what, revision, '' AS id, '' AS doc FROM verdict_revisions WHERE fleet = ?1
		UNION ALL SELECT 'put', revision, id, doc FROM verdicts WHERE fleet = ?1 AND revision > ?2
		UNION ALL SELECT 'end', revision, id, '' FROM verdict_ends WHERE fleet = ?1 AND revision > ?2
		ORDER BY what DESC, revision, id`
)

// revise starts the next revision of a fleet's verdicts.
func revise(t tx, fleet string) (revision int64, err error) {
	err = t.each(nextRevision, []any{fleet}, func(rows *sql.Rows) error { return rows.Scan(&revision) })
	return revision, err
}

func (s *ledgerStore) DeleteVerdict(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var found bool
	if record.ValidID(id) {
		err := s.db.writer.run(ctx, func(t tx) (err error) {
			found, err = removeVerdict(t, id)
			return err
		})
		if err != nil {
			return s.db.fault(ctx, err, "delete verdict %s", id)
		}
	}
	if !found {
		return fmt.Errorf("delete verdict %.80q: %w", id, ledger.ErrNotFound)
	}
	return nil
}

func removeVerdict(t tx, id string) (found bool, err error) {
	var fleet string
	err = t.each(fleetOfVerdict, []any{id}, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(&fleet)
	})
	if err != nil || !found {
		return false, err
	}
	revision, err := revise(t, fleet)
	if err != nil {
		return false, err
	}
	if err := t.exec(deleteVerdict, id); err != nil {
		return false, err
	}
	if err := t.exec(endVerdict, fleet, revision, id); err != nil {
		return false, err
	}
	return true, t.exec(pruneEnds, fleet, revision-ledger.RememberDeleted)
}

func (s *ledgerStore) Changes(ctx context.Context, fleet string, since int64) (ledger.Changes, error) {
	c, err := s.changes(ctx, fleet, since)
	if err == nil && since != 0 && (c.Revision < since || c.Revision-since > ledger.RememberDeleted) {
		c, err = s.changes(ctx, fleet, 0)
	}
	return c, s.db.fault(ctx, err, "list what happened to the verdicts of fleet %s", fleet)
}

func (s *ledgerStore) changes(ctx context.Context, fleet string, since int64) (ledger.Changes, error) {
	var found record.Changes
	var q query
	q.add(listChanges, fleet, since)
	err := q.each(ctx, s.db.reader, func(rows *sql.Rows) error {
		var what, id, doc string
		var revision int64
		if err := rows.Scan(&what, &revision, &id, &doc); err != nil {
			return err
		}
		return found.Add(what, revision, id, doc)
	})
	return found.Since(since), err
}

package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

// pruneEvery is the number of revisions of a fleet after which old deletions are removed.
const pruneEvery = 100

func (s *ledgerStore) DeleteVerdict(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := pgx.ErrNoRows
	var fleet string
	var revision int64
	if record.ValidID(id) {
		err = s.db.pool.QueryRow(ctx, s.deleteVerdict, id).Scan(&fleet, &revision)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("delete verdict %.80q: %w", id, ledger.ErrNotFound)
	}
	if err == nil && revision%pruneEvery == 0 {
		_, err = s.db.pool.Exec(ctx, s.pruneEnds, fleet, revision-ledger.RememberDeleted)
	}
	return s.db.fault(ctx, err, "delete verdict %s", id)
}

func (s *ledgerStore) Changes(ctx context.Context, fleet string, since int64) (ledger.Changes, error) {
	if !record.ValidFleet(fleet) {
		return ledger.Changes{All: true}, ctx.Err()
	}
	c, err := s.changes(ctx, fleet, since)
	if err == nil && since != 0 && (c.Revision < since || c.Revision-since > ledger.RememberDeleted) {
		c, err = s.changes(ctx, fleet, 0)
	}
	return c, s.db.fault(ctx, err, "list what happened to the verdicts of fleet %s", fleet)
}

func (s *ledgerStore) changes(ctx context.Context, fleet string, since int64) (ledger.Changes, error) {
	rows, err := s.db.pool.Query(ctx, s.listChanges, fleet, since)
	if err != nil {
		return ledger.Changes{}, err
	}
	var found record.Changes
	var what, id, doc string
	var revision int64
	_, err = pgx.ForEachRow(rows, []any{&what, &revision, &id, &doc}, func() error {
		return found.Add(what, revision, id, doc)
	})
	return found.Since(since), err
}

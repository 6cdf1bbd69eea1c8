package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/internal/store/tables"
)

// ledgerStore makes room for a letter after it is kept.
type ledgerStore struct {
	tables.Ledger
	db                   *DB
	maxLetters           int
	put, evict, evicting string // statements, and the name of the lock
}

var _ ledger.Store = (*ledgerStore)(nil)

func newLedgerStore(both *shared, schema string, maxLetters int) *ledgerStore {
	return &ledgerStore{
		Ledger: tables.Ledger{DB: both}, db: both.db, maxLetters: maxLetters,
		put: both.dialect.Fill(tables.PutLetter + `xmax = 0`), // the row has no older version: it is new
		evict: inSchema(schema, `DELETE FROM {schema}.letters l USING (
				SELECT id, last FROM {schema}.letters WHERE id <> $1 ORDER BY last, id DESC
				LIMIT (SELECT greatest(count(*) - $2, 0) FROM {schema}.letters)
			) beyond WHERE l.id = beyond.id AND l.last = beyond.last`), // unless a copy arrived in the meantime
		evicting: "bezoar evicts letters of " + schema,
	}
}

func (s *ledgerStore) PutLetter(ctx context.Context, l bezoar.Letter) (bezoar.Letter, error) {
	l, args, err := tables.LetterArgs(l)
	if err != nil {
		return bezoar.Letter{}, err
	}
	var stored record.LetterText
	var isNew bool
	err = s.db.pool.QueryRow(ctx, s.put, args...).Scan(&stored.Kept, &stored.Found, &stored.Copies, &stored.Body, &isNew)
	if err == nil && isNew {
		if err := s.makeRoom(ctx, l.ID); err != nil {
			return bezoar.Letter{}, s.db.fault(ctx, err, "make room for letter %s, which is kept", l.ID)
		}
	}
	return s.Kept(ctx, l, stored, err)
}

// makeRoom evicts letters after newcomer is committed, so that the last of many new letters sees all of
// them. Evictions run one at a time: two would each spare their own letter and evict the
// other's. The batch is one transaction.
func (s *ledgerStore) makeRoom(ctx context.Context, newcomer string) error {
	var batch pgx.Batch
	batch.Queue("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", s.evicting)
	batch.Queue(s.evict, newcomer, s.maxLetters)
	return s.db.pool.SendBatch(ctx, &batch).Close()
}

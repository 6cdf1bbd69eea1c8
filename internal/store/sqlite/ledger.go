package sqlite

import (
	"context"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/internal/store/tables"
)

// ledgerStore makes room for a letter in the transaction that keeps it.
type ledgerStore struct {
	tables.Ledger
	db         *DB
	put        string // the statement of PutLetter
	maxLetters int
}

var _ ledger.Store = (*ledgerStore)(nil)

const (
	countLetters = `SELECT count(*) FROM letters`
	evictLetters = `DELETE FROM letters WHERE id IN
		(SELECT id FROM letters WHERE id <> ? ORDER BY last, id DESC LIMIT ?)`
)

func (s *ledgerStore) PutLetter(ctx context.Context, l bezoar.Letter) (bezoar.Letter, error) {
	l, args, err := tables.LetterArgs(l)
	if err != nil {
		return bezoar.Letter{}, err
	}
	var id string // of the previous letter, if any
	var stored record.LetterText
	err = s.db.writer.run(ctx, func(t tx) error {
		if err := t.row(s.put, args, &stored.Kept, &stored.Found, &stored.Copies, &stored.Body, &id); err != nil {
			return err
		}
		var n int
		if err := t.row(countLetters, nil, &n); err != nil || n <= s.maxLetters {
			return err
		}
		return t.exec(evictLetters, id, n-s.maxLetters)
	})
	return s.Kept(ctx, l, stored, err)
}

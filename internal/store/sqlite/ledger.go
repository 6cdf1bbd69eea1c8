package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

type ledgerStore struct {
	db         *DB
	maxLetters int
}

var _ ledger.Store = (*ledgerStore)(nil)

const (
	putVerdict = `INSERT INTO verdicts (id, fleet, since, doc, revision) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET fleet = excluded.fleet, since = excluded.since, doc = excluded.doc, revision = excluded.revision`
	deleteVerdict = `DELETE FROM verdicts WHERE id = ?`

	// The column fingerprint holds the key.
	putLetter = `INSERT INTO letters (id, fleet, fingerprint, work, last, copies, kept, found, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (fleet, fingerprint) DO UPDATE
		SET last = excluded.last, copies = copies + excluded.copies, found = excluded.found
		RETURNING id, kept, found, copies, body`
	countLetters = `SELECT count(*) FROM letters`
	evictLetters = `DELETE FROM letters WHERE id IN
		(SELECT id FROM letters WHERE id <> ? ORDER BY last, id DESC LIMIT ?)`
	getLetter    = `SELECT kept, found, copies, body FROM letters WHERE id = ?`
	deleteLetter = `DELETE FROM letters WHERE id = ?`
)

func (s *ledgerStore) PutVerdict(ctx context.Context, v bezoar.Verdict) error {
	v, err := record.Verdict(v)
	if err != nil {
		return err
	}
	doc, err := record.EncodeVerdict(v)
	if err != nil {
		return err
	}
	err = s.db.writer.run(ctx, func(t tx) error {
		revision, err := revise(t, v.Fleet)
		if err != nil {
			return err
		}
		return t.exec(putVerdict, v.ID, v.Fleet, v.Since.UnixMicro(), doc, revision)
	})
	return s.db.fault(ctx, err, "put verdict %s", v.ID)
}

func (s *ledgerStore) DeleteLetter(ctx context.Context, id string) error {
	return s.delete(ctx, "letter", deleteLetter, id)
}

func (s *ledgerStore) delete(ctx context.Context, kind, query, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var n int64
	if record.ValidID(id) {
		err := s.db.writer.run(ctx, func(t tx) (err error) {
			n, err = t.changed(query, id)
			return err
		})
		if err != nil {
			return s.db.fault(ctx, err, "delete %s %s", kind, id)
		}
	}
	if n == 0 {
		return fmt.Errorf("delete %s %.80q: %w", kind, id, ledger.ErrNotFound)
	}
	return nil
}

func (s *ledgerStore) Verdicts(ctx context.Context, fleet string) ([]bezoar.Verdict, error) {
	var q query
	q.add("SELECT doc FROM verdicts")
	if fleet != "" {
		q.add("WHERE fleet = ?", fleet)
	}
	q.add("ORDER BY since, id")
	found, err := collect(ctx, s.db.reader, &q, record.ScanVerdict)
	return found, s.db.fault(ctx, err, "list verdicts")
}

func (s *ledgerStore) PutLetter(ctx context.Context, l bezoar.Letter) (bezoar.Letter, error) {
	l, err := record.Letter(l)
	if err != nil {
		return bezoar.Letter{}, err
	}
	text, err := record.EncodeLetter(l)
	if err != nil {
		return bezoar.Letter{}, err
	}
	if text.Body == nil {
		text.Body = []byte{}
	}
	key := l.Key()
	args := []any{
		l.ID, l.Fleet, key[:], l.Fingerprint[:], l.Last.UnixMicro(), text.Copies, text.Kept, text.Found, text.Body,
	}
	var id string // of the previous letter, if any
	var stored record.LetterText
	err = s.db.writer.run(ctx, func(t tx) error {
		if err := t.row(putLetter, args, &id, &stored.Kept, &stored.Found, &stored.Copies, &stored.Body); err != nil {
			return err
		}
		var n int
		if err := t.row(countLetters, nil, &n); err != nil || n <= s.maxLetters {
			return err
		}
		return t.exec(evictLetters, id, n-s.maxLetters)
	})
	if isUniqueViolation(err) {
		return bezoar.Letter{}, fmt.Errorf("keep letter %s: the ID belongs to a letter of other work", l.ID)
	}
	if err != nil {
		return bezoar.Letter{}, s.db.fault(ctx, err, "keep letter %s", l.ID)
	}
	return record.DecodeLetter(stored)
}

func (s *ledgerStore) Letters(ctx context.Context, lq ledger.LetterQuery) ([]bezoar.Letter, error) {
	lq, err := record.Query(lq)
	if err != nil {
		return nil, err
	}
	var q query
	q.add("SELECT kept, found, copies FROM letters WHERE true")
	if lq.Fleet != "" {
		q.add("AND fleet = ?", lq.Fleet)
	}
	if !lq.Fingerprint.IsZero() {
		q.add("AND coalesce(work, fingerprint) = ?", lq.Fingerprint[:])
	}
	if !lq.Key.IsZero() {
		q.add("AND fingerprint = ?", lq.Key[:])
	}
	q.add("ORDER BY last DESC, id LIMIT ? OFFSET ?", lq.Limit, lq.Offset)
	found, err := collect(ctx, s.db.reader, &q, record.ScanLetter)
	return found, s.db.fault(ctx, err, "list letters")
}

func (s *ledgerStore) Letter(ctx context.Context, id string) (bezoar.Letter, error) {
	if err := ctx.Err(); err != nil {
		return bezoar.Letter{}, err
	}
	err := sql.ErrNoRows
	var text record.LetterText
	if record.ValidID(id) {
		err = s.db.reader.QueryRowContext(ctx, getLetter, id).Scan(&text.Kept, &text.Found, &text.Copies, &text.Body)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return bezoar.Letter{}, fmt.Errorf("letter %.80q: %w", id, ledger.ErrNotFound)
	}
	if err != nil {
		return bezoar.Letter{}, s.db.fault(ctx, err, "read letter %s", id)
	}
	return record.DecodeLetter(text)
}

// query builds a statement together with its arguments.
type query struct {
	text strings.Builder
	args []any
}

func (q *query) add(text string, args ...any) {
	q.text.WriteString(text)
	q.text.WriteByte(' ')
	q.args = append(q.args, args...)
}

// reader is a *sql.DB or a *sql.Tx.
type reader interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func (q *query) each(ctx context.Context, db reader, f func(*sql.Rows) error) error {
	rows, err := db.QueryContext(ctx, q.text.String(), q.args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// collect reads all rows.
func collect[T any](ctx context.Context, db reader, q *query, read func(record.Scan) (T, error)) (found []T, err error) {
	err = q.each(ctx, db, func(rows *sql.Rows) error {
		one, err := read(rows.Scan)
		found = append(found, one)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

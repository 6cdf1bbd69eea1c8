package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

type ledgerStore struct {
	db         *DB
	maxLetters int
	evictLock  string

	// Statements with the schema filled in.
	putVerdict, deleteVerdict, listVerdicts, listChanges, pruneEnds string
	putLetter, evictLetters, getLetter, deleteLetter, listLetters   string
}

var _ ledger.Store = (*ledgerStore)(nil)

func newLedgerStore(db *DB, schema string, maxLetters int) *ledgerStore {
	in := func(statement string) string { return inSchema(schema, statement) }
	return &ledgerStore{
		db:         db,
		maxLetters: maxLetters,
		evictLock:  "bezoar evicts letters of " + schema,

		// Both lock the fleet's revision first, so that they do not deadlock, and commit in
		// the order of revisions.
		putVerdict: in(`WITH r AS (
				INSERT INTO {schema}.verdict_revisions AS r (fleet, revision) VALUES ($2, 1)
				ON CONFLICT (fleet) DO UPDATE SET revision = r.revision + 1 RETURNING revision
			)
			INSERT INTO {schema}.verdicts (id, fleet, since, doc, revision) SELECT $1, $2, $3, $4::jsonb, revision FROM r
			ON CONFLICT (id) DO UPDATE SET fleet = excluded.fleet, since = excluded.since, doc = excluded.doc, revision = excluded.revision`),
		deleteVerdict: in(`WITH f AS (SELECT fleet FROM {schema}.verdicts WHERE id = $1),
			r AS (
				INSERT INTO {schema}.verdict_revisions AS r (fleet, revision) SELECT fleet, 1 FROM f
				ON CONFLICT (fleet) DO UPDATE SET revision = r.revision + 1 RETURNING fleet, revision
			),
			d AS (DELETE FROM {schema}.verdicts v USING r WHERE v.id = $1 AND v.fleet = r.fleet RETURNING v.id)
			INSERT INTO {schema}.verdict_ends (fleet, revision, id) SELECT r.fleet, r.revision, d.id FROM r, d
			RETURNING fleet, revision`),
		pruneEnds: in(`DELETE FROM {schema}.verdict_ends WHERE fleet = $1 AND revision <= $2`),
		listChanges: in(`SELECT 'revision' AS what, revision, '' AS id, '' AS doc FROM {schema}.verdict_revisions WHERE fleet = $1
			UNION ALL SELECT 'put', revision, id, doc::text FROM {schema}.verdicts WHERE fleet = $1 AND revision > $2
			UNION ALL SELECT 'end', revision, id, '' FROM {schema}.verdict_ends WHERE fleet = $1 AND revision > $2
			ORDER BY what DESC, revision, id`),
		listVerdicts: in(`SELECT doc FROM {schema}.verdicts`),

		// The column fingerprint holds the key.
		putLetter: in(`INSERT INTO {schema}.letters AS l (id, fleet, fingerprint, work, last, copies, kept, found, body)
			VALUES ($1, $2, $3, $4, $5, $6, $7::jsonb, $8::jsonb, $9)
			ON CONFLICT (fleet, fingerprint) DO UPDATE
			SET last = excluded.last, copies = l.copies + excluded.copies, found = excluded.found
			RETURNING kept, found, copies, body, xmax = 0`), // the row has no older version: it is new
		evictLetters: in(`DELETE FROM {schema}.letters l USING (
				SELECT id, last FROM {schema}.letters WHERE id <> $1 ORDER BY last, id DESC
				LIMIT (SELECT greatest(count(*) - $2, 0) FROM {schema}.letters)
			) beyond WHERE l.id = beyond.id AND l.last = beyond.last`), // unless a copy arrived in the meantime
		getLetter:    in(`SELECT kept, found, copies, body FROM {schema}.letters WHERE id = $1`),
		deleteLetter: in(`DELETE FROM {schema}.letters WHERE id = $1`),
		listLetters:  in(`SELECT kept, found, copies FROM {schema}.letters WHERE true`),
	}
}

func (s *ledgerStore) PutVerdict(ctx context.Context, v bezoar.Verdict) error {
	v, err := record.Verdict(v)
	if err != nil {
		return err
	}
	doc, err := record.EncodeVerdict(v)
	if err != nil {
		return err
	}
	_, err = s.db.pool.Exec(ctx, s.putVerdict, v.ID, v.Fleet, v.Since.UnixMicro(), doc)
	return s.db.fault(ctx, err, "put verdict %s", v.ID)
}

func (s *ledgerStore) DeleteLetter(ctx context.Context, id string) error {
	return s.delete(ctx, "letter", s.deleteLetter, id)
}

func (s *ledgerStore) delete(ctx context.Context, kind, statement, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if record.ValidID(id) {
		result, err := s.db.pool.Exec(ctx, statement, id)
		if err != nil {
			return s.db.fault(ctx, err, "delete %s %s", kind, id)
		}
		if result.RowsAffected() > 0 {
			return nil
		}
	}
	return fmt.Errorf("delete %s %.80q: %w", kind, id, ledger.ErrNotFound)
}

func (s *ledgerStore) Verdicts(ctx context.Context, fleet string) ([]bezoar.Verdict, error) {
	if !record.ValidFleet(fleet) {
		return nil, ctx.Err()
	}
	q := query{s.listVerdicts, nil}
	if fleet != "" {
		q.add("WHERE fleet = $?", fleet)
	}
	q.add("ORDER BY since, id")
	found, err := collect(ctx, s.db, q, by(record.ScanVerdict))
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
	var stored record.LetterText
	var isNew bool
	key := l.Key()
	err = s.db.pool.QueryRow(ctx, s.putLetter,
		l.ID, l.Fleet, key[:], l.Fingerprint[:], l.Last.UnixMicro(), text.Copies, text.Kept, text.Found, text.Body,
	).Scan(&stored.Kept, &stored.Found, &stored.Copies, &stored.Body, &isNew)
	if isUniqueViolation(err) {
		return bezoar.Letter{}, fmt.Errorf("keep letter %s: the ID belongs to a letter of other work", l.ID)
	}
	if err != nil {
		return bezoar.Letter{}, s.db.fault(ctx, err, "keep letter %s", l.ID)
	}
	if isNew {
		if err := s.evict(ctx, l.ID); err != nil {
			return bezoar.Letter{}, s.db.fault(ctx, err, "make room for letter %s, which is kept", l.ID)
		}
	}
	return record.DecodeLetter(stored)
}

// evict makes room for a committed letter, so that the last of many new letters sees all of
// them. Evictions run one at a time: two would each spare their own letter and evict the
// other's. The batch is one transaction.
func (s *ledgerStore) evict(ctx context.Context, newcomer string) error {
	var batch pgx.Batch
	batch.Queue("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", s.evictLock)
	batch.Queue(s.evictLetters, newcomer, s.maxLetters)
	return s.db.pool.SendBatch(ctx, &batch).Close()
}

func (s *ledgerStore) Letters(ctx context.Context, lq ledger.LetterQuery) ([]bezoar.Letter, error) {
	lq, err := record.Query(lq)
	if err != nil {
		return nil, err
	}
	if !record.ValidFleet(lq.Fleet) {
		return nil, ctx.Err()
	}
	q := query{s.listLetters, nil}
	if lq.Fleet != "" {
		q.add("AND fleet = $?", lq.Fleet)
	}
	if !lq.Fingerprint.IsZero() {
		q.add("AND coalesce(work, fingerprint) = $?", lq.Fingerprint[:])
	}
	if !lq.Key.IsZero() {
		q.add("AND fingerprint = $?", lq.Key[:])
	}
	q.add("ORDER BY last DESC, id LIMIT $?", lq.Limit)
	q.add("OFFSET $?", lq.Offset)
	found, err := collect(ctx, s.db, q, by(record.ScanLetter))
	return found, s.db.fault(ctx, err, "list letters")
}

func (s *ledgerStore) Letter(ctx context.Context, id string) (bezoar.Letter, error) {
	if err := ctx.Err(); err != nil {
		return bezoar.Letter{}, err
	}
	err := pgx.ErrNoRows
	var text record.LetterText
	if record.ValidID(id) {
		err = s.db.pool.QueryRow(ctx, s.getLetter, id).Scan(&text.Kept, &text.Found, &text.Copies, &text.Body)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return bezoar.Letter{}, fmt.Errorf("letter %.80q: %w", id, ledger.ErrNotFound)
	}
	if err != nil {
		return bezoar.Letter{}, s.db.fault(ctx, err, "read letter %s", id)
	}
	return record.DecodeLetter(text)
}

// query builds a statement together with its arguments.
type query struct {
	text string
	args []any
}

// add appends text, in which $? stands for arg.
func (q *query) add(text string, arg ...any) {
	q.args = append(q.args, arg...)
	q.text += " " + strings.ReplaceAll(text, "$?", fmt.Sprintf("$%d", len(q.args)))
}

func collect[T any](ctx context.Context, db *DB, q query, read pgx.RowToFunc[T]) ([]T, error) {
	rows, err := db.pool.Query(ctx, q.text, q.args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, read)
}

// by adapts a row to the scan functions of package record.
func by[T any](read func(record.Scan) (T, error)) pgx.RowToFunc[T] {
	return func(row pgx.CollectableRow) (T, error) { return read(row.Scan) }
}

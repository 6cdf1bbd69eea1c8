package tables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

// Ledger keeps verdicts and letters: all of a [ledger.Store] but PutLetter, which makes room for a
// letter in a way of its own where several nodes write.
type Ledger struct{ DB }

// pruneEvery is the number of revisions of a fleet after which old deletions are removed.
const pruneEvery = 100

// nextRevision locks the fleet's revision. Puts and deletions begin with it, so that they do not
// deadlock, and commit in the order of revisions.
const nextRevision = `INSERT INTO {schema}.verdict_revisions AS r (fleet, revision) VALUES ($1, 1)
	ON CONFLICT (fleet) DO UPDATE SET revision = r.revision + 1`

// PutVerdict implements [ledger.Store].
func (s Ledger) PutVerdict(ctx context.Context, v bezoar.Verdict) error {
	v, err := record.Verdict(v)
	if err != nil {
		return err
	}
	doc, err := record.EncodeVerdict(v)
	if err != nil {
		return err
	}
	var b Batch
	b.add(nextRevision, v.Fleet)
	b.add(`INSERT INTO {schema}.verdicts (id, fleet, since, doc, revision)
		SELECT $1, fleet, $3, $4{json}, revision FROM {schema}.verdict_revisions WHERE fleet = $2
		ON CONFLICT (id) DO UPDATE SET fleet = excluded.fleet, since = excluded.since, doc = excluded.doc, revision = excluded.revision`,
		v.ID, v.Fleet, v.Since.UnixMicro(), doc)
	return s.Fault(ctx, s.Send(ctx, b), "put verdict %s", v.ID)
}

// DeleteVerdict implements [ledger.Store].
func (s Ledger) DeleteVerdict(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	found := false
	if record.ValidID(id) {
		fleet, err := readRow(ctx, s, `SELECT fleet FROM {schema}.verdicts WHERE id = $1`, []any{id}, func(scan record.Scan) (fleet string, err error) {
			return fleet, scan(&fleet)
		})
		if err == nil {
			found, err = s.deleteVerdict(ctx, id, fleet)
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return s.Fault(ctx, err, "delete verdict %s", id)
		}
	}
	if !found {
		return fmt.Errorf("delete verdict %.80q: %w", id, ledger.ErrNotFound)
	}
	return nil
}

func (s Ledger) deleteVerdict(ctx context.Context, id, fleet string) (found bool, err error) {
	var revision int64
	var b Batch
	b.add(nextRevision, fleet)
	b.read(`INSERT INTO {schema}.verdict_ends (fleet, revision, id)
		SELECT v.fleet, r.revision, v.id FROM {schema}.verdicts v JOIN {schema}.verdict_revisions r ON r.fleet = v.fleet WHERE v.id = $1 AND v.fleet = $2
		RETURNING revision`, []any{id, fleet}, func() { revision = 0 }, func(scan record.Scan) error { return scan(&revision) })
	b.add(`DELETE FROM {schema}.verdicts WHERE id = $1 AND fleet = $2`, id, fleet)
	if err := s.Send(ctx, b); err != nil || revision == 0 {
		return false, err
	}
	if revision%pruneEvery == 0 {
		b = nil
		b.add(`DELETE FROM {schema}.verdict_ends WHERE fleet = $1 AND revision <= $2`, fleet, revision-ledger.RememberDeleted)
		err = s.Send(ctx, b)
	}
	return true, err
}

// Verdicts implements [ledger.Store].
func (s Ledger) Verdicts(ctx context.Context, fleet string) ([]bezoar.Verdict, error) {
	if !record.ValidFleet(fleet) {
		return nil, ctx.Err()
	}
	q := query{text: `SELECT doc FROM {schema}.verdicts`}
	if fleet != "" {
		q.add("WHERE fleet = $?", fleet)
	}
	q.add("ORDER BY since, id")
	found, err := collect(ctx, s, q, record.ScanVerdict)
	return found, s.Fault(ctx, err, "list verdicts")
}

// Changes implements [ledger.Store].
func (s Ledger) Changes(ctx context.Context, fleet string, since int64) (ledger.Changes, error) {
	if !record.ValidFleet(fleet) {
		return ledger.Changes{All: true}, ctx.Err()
	}
	c, err := s.changes(ctx, fleet, since)
	if err == nil && since != 0 && (c.Revision < since || c.Revision-since > ledger.RememberDeleted) {
		c, err = s.changes(ctx, fleet, 0)
	}
	return c, s.Fault(ctx, err, "list what happened to the verdicts of fleet %s", fleet)
}

// changes reads one consistent state by one statement.
func (s Ledger) changes(ctx context.Context, fleet string, since int64) (ledger.Changes, error) {
	var found record.Changes
	err := s.Read(ctx, `SELECT 'revision' AS what, revision, '' AS id, '' AS doc FROM {schema}.verdict_revisions WHERE fleet = $1
		UNION ALL SELECT 'put', revision, id, CAST(doc AS text) FROM {schema}.verdicts WHERE fleet = $1 AND revision > $2
		UNION ALL SELECT 'end', revision, id, '' FROM {schema}.verdict_ends WHERE fleet = $1 AND revision > $2
		ORDER BY what DESC, revision, id`, []any{fleet, since}, func(scan record.Scan) error {
		var what, id, doc string
		var revision int64
		if err := scan(&what, &revision, &id, &doc); err != nil {
			return err
		}
		return found.Add(what, revision, id, doc)
	})
	return found.Since(since), err
}

// PutLetter is the statement that keeps a letter, for [LetterArgs]. The column fingerprint holds
// the key. The database adds to the columns that it returns.
const PutLetter = `INSERT INTO {schema}.letters AS l (id, fleet, fingerprint, work, last, copies, kept, found, body)
	VALUES ($1, $2, $3, $4, $5, $6, $7{json}, $8{json}, $9)
	ON CONFLICT (fleet, fingerprint) DO UPDATE SET last = excluded.last, copies = l.copies + excluded.copies, found = excluded.found
	RETURNING kept, found, copies, body, `

// LetterArgs returns a letter in its canonical form, and the arguments of [PutLetter].
func LetterArgs(l bezoar.Letter) (bezoar.Letter, []any, error) {
	l, err := record.Letter(l)
	if err != nil {
		return l, nil, err
	}
	text, err := record.EncodeLetter(l)
	if err != nil {
		return l, nil, err
	}
	if text.Body == nil {
		text.Body = []byte{}
	}
	key := l.Key()
	return l, []any{l.ID, l.Fleet, key[:], l.Fingerprint[:], l.Last.UnixMicro(), text.Copies, text.Kept, text.Found, text.Body}, nil
}

// Kept returns the stored letter, or the error of a put.
func (s Ledger) Kept(ctx context.Context, l bezoar.Letter, stored record.LetterText, err error) (bezoar.Letter, error) {
	if s.IsUnique(err) {
		return bezoar.Letter{}, fmt.Errorf("keep letter %s: the ID belongs to a letter of other work", l.ID)
	}
	if err != nil {
		return bezoar.Letter{}, s.Fault(ctx, err, "keep letter %s", l.ID)
	}
	return record.DecodeLetter(stored)
}

// DeleteLetter implements [ledger.Store].
func (s Ledger) DeleteLetter(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	found := false
	if record.ValidID(id) {
		var b Batch
		b.read(`DELETE FROM {schema}.letters WHERE id = $1 RETURNING id`, []any{id}, func() { found = false }, func(record.Scan) error {
			found = true
			return nil
		})
		if err := s.Send(ctx, b); err != nil {
			return s.Fault(ctx, err, "delete letter %s", id)
		}
	}
	if !found {
		return fmt.Errorf("delete letter %.80q: %w", id, ledger.ErrNotFound)
	}
	return nil
}

// Letters implements [ledger.Store].
func (s Ledger) Letters(ctx context.Context, lq ledger.LetterQuery) ([]bezoar.Letter, error) {
	lq, err := record.Query(lq)
	if err != nil {
		return nil, err
	}
	if !record.ValidFleet(lq.Fleet) {
		return nil, ctx.Err()
	}
	q := query{text: `SELECT kept, found, copies FROM {schema}.letters WHERE true`}
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
	found, err := collect(ctx, s, q, record.ScanLetter)
	return found, s.Fault(ctx, err, "list letters")
}

// Letter implements [ledger.Store].
func (s Ledger) Letter(ctx context.Context, id string) (bezoar.Letter, error) {
	if err := ctx.Err(); err != nil {
		return bezoar.Letter{}, err
	}
	err := sql.ErrNoRows
	var text record.LetterText
	if record.ValidID(id) {
		text, err = readRow(ctx, s, `SELECT kept, found, copies, body FROM {schema}.letters WHERE id = $1`, []any{id},
			func(scan record.Scan) (t record.LetterText, err error) {
				err = scan(&t.Kept, &t.Found, &t.Copies, &t.Body)
				return t, err
			})
	}
	if errors.Is(err, sql.ErrNoRows) {
		return bezoar.Letter{}, fmt.Errorf("letter %.80q: %w", id, ledger.ErrNotFound)
	}
	if err != nil {
		return bezoar.Letter{}, s.Fault(ctx, err, "read letter %s", id)
	}
	return record.DecodeLetter(text)
}

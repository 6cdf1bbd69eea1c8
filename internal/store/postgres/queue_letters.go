package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

// letters is the source of letters. It excludes buckets that were left.
const letters = ` FROM {schema}.queue_deaths d JOIN {schema}.queues q ON q.bucket = d.bucket`

// choose appends a selection as conditions on letters. in fills in the schema's name.
func (q *query) choose(s queue.Selection, in func(string) string) {
	if s.Queue != "" {
		q.add("WHERE q.name = $?", s.Queue)
	} else {
		q.add("WHERE q.name <> $?", queue.TrashQueue)
	}
	if len(s.Groups) > 0 {
		q.add("AND d.grp = ANY ($?::text[])", slices.DeleteFunc(slices.Clone(s.Groups), func(g string) bool { return !plain(g) }))
	}
	if len(s.IDs) > 0 {
		q.add("AND d.id = ANY ($?::text[])", slices.DeleteFunc(slices.Clone(s.IDs), func(id string) bool { return !plain(id) }))
	}
	if s.Origin != "" {
		q.add("AND d.origin = $?", s.Origin)
	}
	if s.Class != "" {
		q.add("AND d.class = $?", s.Class)
	}
	if !s.After.IsZero() {
		q.add("AND d.died >= $?", s.After.UnixMicro())
	}
	if !s.Before.IsZero() {
		q.add("AND d.died < $?", s.Before.UnixMicro())
	}
	if s.Last != 0 {
		q.add("AND d.seq <= $?", s.Last)
	}
	if s.Unreplaced {
		q.text += in(" AND (SELECT l.doc::json #>> '{discarded,into}' IS NULL FROM {schema}.queue_letters l WHERE l.bucket = d.bucket AND l.seq = d.seq)")
	}
	q.chooseContent(s, in)
}

// chooseContent appends the conditions on the content of letters. Attributes are searched
// in the text that record.EncodeAttributes wrote: reading it as JSON would fail on a NUL or
// damage in any of them.
func (q *query) chooseContent(s queue.Selection, in func(string) string) {
	if s.Reason != "" {
		q.add(in("AND (SELECT strpos(r.doc::json ->> 'reason', $?) > 0 FROM {schema}.queue_letters r WHERE r.bucket = d.bucket AND r.seq = d.seq)"), s.Reason)
	}
	if s.Body != "" {
		q.add(in("AND (SELECT position($?::bytea IN y.body) > 0"+payloadOf+")"), []byte(s.Body))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Attributes)) {
		q.add(in("AND (SELECT y.attributes ~ $?::text"+payloadOf+")"), record.AttributePattern(name, s.Attributes[name]))
	}
}

// payloadOf joins the content of the message of a death d.
const payloadOf = ` FROM {schema}.queue_messages c JOIN {schema}.queue_payloads y ON y.payload = c.payload WHERE c.bucket = d.bucket AND c.seq = d.seq`

// impossible reports that nothing can match, without asking the server, which would reject
// such texts.
func impossible(s queue.Selection) bool {
	return !plain(s.Queue) || !plain(s.Origin) || !plain(s.Class) || !plain(s.Reason)
}

// hour is one hour in microseconds.
const hour = 3_600_000_000

func (s *queueStore) Groups(ctx context.Context, sel queue.Selection, limit int) ([]queue.Group, error) {
	if impossible(sel) {
		return nil, ctx.Err()
	}
	// Each letter is read once, without its document. Sorting the groups would take longer
	// than all the rest.
	q := query{s.in(fmt.Sprintf(`WITH h AS (
			SELECT d.bucket, d.grp, least(greatest(%s - d.died, 0) / %d, 24) AS hour, count(*) AS n, count(*) FILTER (WHERE d.redriven) AS redriven,
				min(d.died) AS first, max(d.died) AS last`, `(extract(epoch FROM statement_timestamp()) * 1000000)::bigint`, hour) + letters), nil}
	q.choose(sel, s.in)
	q.text += s.in(` GROUP BY 1, 2, 3
		), g AS (
			SELECT h.bucket, h.grp, sum(h.n)::bigint AS n, sum(h.redriven)::bigint AS redriven, min(h.first) AS first, max(h.last) AS last,
				array_agg(h.hour::bigint) AS hours, array_agg(h.n) AS counts FROM h GROUP BY 1, 2`)
	q.add("ORDER BY max(h.last) DESC LIMIT $?", limit)
	q.text += s.in(`) SELECT q.name, g.grp, g.n, g.redriven, g.first, g.last, g.hours, g.counts, n.id, n.doc, n.died
		FROM g JOIN {schema}.queues q ON q.bucket = g.bucket CROSS JOIN LATERAL (
			SELECT d.id, l.doc, d.died FROM {schema}.queue_deaths d JOIN {schema}.queue_letters l ON l.bucket = d.bucket AND l.seq = d.seq
			WHERE d.bucket = g.bucket AND d.grp = g.grp AND d.died = g.last ORDER BY d.seq DESC LIMIT 1) n`)
	var found []queue.Group
	var batch pgx.Batch // one transaction
	batch.Queue(`SELECT set_config('enable_sort', 'off', true), set_config('jit', 'off', true)`)
	batch.Queue(q.text, q.args...).Query(func(rows pgx.Rows) (err error) {
		found, err = pgx.CollectRows(rows, scanGroup)
		return err
	})
	err := s.db.pool.SendBatch(ctx, &batch).Close()
	if err != nil {
		return nil, s.db.fault(ctx, err, "count dead letters by what failed")
	}
	sorted.Func(found, func(a, b queue.Group) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Key, b.Key))
	})
	return found, nil
}

func scanGroup(row pgx.CollectableRow) (queue.Group, error) {
	var g queue.Group
	var first, last, died int64
	var hours, counts []int64
	var doc []byte
	err := row.Scan(&g.Queue, &g.Key, &g.Count, &g.Redriven, &first, &last, &hours, &counts, &g.Sample, &doc, &died)
	if err != nil {
		return g, err
	}
	newest, err := readLetter(doc, died)
	if err != nil {
		return g, err
	}
	g.First, g.Last, g.Origin, g.Outcome = record.Time(first), record.Time(last), newest.Origin, newest.Outcome
	for i, ago := range hours {
		if at := record.Hour(0, ago*hour); at >= 0 {
			g.Hours[at] += counts[i]
		}
	}
	return g, nil
}

// Columns of whole letters, and of letters in lists, which omit large values.
const (
	deathColumns = `SELECT ` + fullColumns + ofDeath
	shortColumns = `SELECT ` + stateColumns + `, p.sender, NULL::text, NULL::bytea` + ofDeath
	ofDeath      = `, q.name, q.id, ` + clock + letters + `
	JOIN {schema}.queue_messages m ON m.bucket = d.bucket AND m.seq = d.seq JOIN {schema}.queue_payloads p ON p.payload = m.payload
	JOIN {schema}.queue_letters l ON l.bucket = d.bucket AND l.seq = d.seq`
)

func scanDeath(row pgx.Row) (d queue.Death, err error) {
	var id, now int64
	f, err := scanFull(row, &d.Queue, &id, &now)
	if err != nil {
		return d, err
	}
	d.Message = f.show(now, true)
	d.Receipt.Queue = id
	return d, nil
}

func (s *queueStore) Letters(ctx context.Context, sel queue.Selection, after int64, limit int) ([]queue.Death, error) {
	if impossible(sel) {
		return nil, ctx.Err()
	}
	q := query{s.in(shortColumns), nil}
	q.choose(sel, s.in)
	if after != 0 {
		q.add("AND d.seq < $?", after)
	}
	q.add("ORDER BY d.seq DESC LIMIT $?", limit)
	found, err := collect(ctx, s.db, q, func(row pgx.CollectableRow) (queue.Death, error) {
		d, err := scanDeath(row)
		if err == nil {
			d.Attempts, d.Letter.Attempts = nil, nil
		}
		return d, err
	})
	return found, s.db.fault(ctx, err, "list dead letters")
}

func noLetter(id string) error { return fmt.Errorf("letter %.64q: %w", id, queue.ErrLetterNotFound) }

func (s *queueStore) Letter(ctx context.Context, id string) (queue.Death, error) {
	if !plain(id) {
		return queue.Death{}, errors.Join(ctx.Err(), noLetter(id))
	}
	d, err := scanDeath(s.db.pool.QueryRow(ctx, s.in(deathColumns+` WHERE d.id = $1 ORDER BY d.seq DESC LIMIT 1`), id))
	if errors.Is(err, pgx.ErrNoRows) {
		return d, noLetter(id)
	}
	return d, s.db.fault(ctx, err, "read letter %.64q", id)
}

func (s *queueStore) CountLetters(ctx context.Context, sel queue.Selection) (n, last int64, err error) {
	if impossible(sel) {
		return 0, 0, ctx.Err()
	}
	err = s.countLetters(ctx, s.db.pool, sel, &n, &last)
	return n, last, s.db.fault(ctx, err, "count dead letters")
}

func (s *queueStore) countLetters(ctx context.Context, db sender, sel queue.Selection, n, last *int64) error {
	q := query{s.in(`SELECT count(*), coalesce(max(d.seq), 0)` + letters), nil}
	q.choose(sel, s.in)
	return db.QueryRow(ctx, q.text, q.args...).Scan(n, last)
}

func (s *queueStore) Replace(ctx context.Context, r queue.Replacement) (queue.Sent, error) {
	if !plain(r.Letter) || !plain(r.Destination) {
		return queue.Sent{}, errors.Join(ctx.Err(), noLetter(r.Letter))
	}
	return writing(ctx, s, "replace letter "+r.Letter, func(t *queueTx) (queue.Sent, error) { return t.replace(r) })
}

func (t *queueTx) replace(r queue.Replacement) (none queue.Sent, err error) {
	var seq int64
	var group string
	d, err := scanQueue(t.tx.QueryRow(t.ctx, t.in(`SELECT `+queueColumns+`, `+clock+`, m.seq, coalesce(m.grp, '')`+letters+`
		JOIN {schema}.queue_messages m ON m.bucket = d.bucket AND m.seq = d.seq
		WHERE d.id = $1 ORDER BY d.seq DESC LIMIT 1`), r.Letter), &t.now, &seq, &group)
	if errors.Is(err, pgx.ErrNoRows) {
		return none, noLetter(r.Letter)
	}
	if err != nil {
		return none, err
	}
	groups := slices.DeleteFunc([]string{group, r.Entry.Group}, func(g string) bool { return g == "" })
	if err := t.lockGroups(groups); err != nil {
		return none, err
	}
	rows, err := t.lockRows(d, []int64{seq}, "")
	if err != nil {
		return none, err
	}
	if len(rows) == 0 {
		return none, noLetter(r.Letter)
	}
	m := rows[0]
	letter, err := m.letter()
	if err != nil {
		return none, err
	}
	if err := record.MayReplace(r, letter, m.seq, &m.Lease, t.now); err != nil {
		return none, err
	}
	target, err := t.named(r.Destination)
	if err == nil && r.Destination == queue.TrashQueue {
		err = noQueue(r.Destination)
	}
	if err != nil {
		return none, err
	}
	trash, err := t.named(queue.TrashQueue)
	if err != nil {
		return none, err
	}
	sent, err := t.send(target.ID, []queue.Entry{r.Entry}, &r.Lineage)
	if err != nil {
		return none, err
	}
	if sent[0].Duplicate {
		return sent[0], nil
	}
	letter.Discarded = &queue.Discarded{At: record.Time(t.now), From: d.Name, Into: sent[0].ID}
	t.take(m)
	t.settle(m, trash, letter)
	return sent[0], nil
}

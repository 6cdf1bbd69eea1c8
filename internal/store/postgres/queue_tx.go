package postgres

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/queue/lease"
	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

// queueTx is one transaction. It collects changes; flush stores them in a few statements
// sent together.
type queueTx struct {
	ctx context.Context //nolint:containedctx // of one transaction
	s   *queueStore
	tx  pgx.Tx
	now int64

	changed []*messageRow // changed leases
	gone    []*messageRow
	settled []*settled // messages that entered another queue
	groups  map[groupKey]bool
	sizes   map[int64]int64 // growth of each bucket
	endings map[int64]*ending
	cases   map[bezoar.Fingerprint]*caseEntry
	caseOf  int64 // queue of the cases
	targets map[string]definition
}

// settled is a message in its new queue. It keeps its payload.
type settled struct {
	messageRow
	target definition
	dying  *queue.Letter // nil: not a letter
}

// ending counts the outcomes of messages that a task had sent.
type ending struct{ done, dead int64 }

func newQueueTx(ctx context.Context, s *queueStore, tx pgx.Tx) *queueTx {
	return &queueTx{
		ctx: ctx, s: s, tx: tx,
		groups: make(map[groupKey]bool), sizes: make(map[int64]int64), endings: make(map[int64]*ending),
		cases: make(map[bezoar.Fingerprint]*caseEntry), targets: make(map[string]definition),
	}
}

func (t *queueTx) in(statement string) string { return t.s.in(statement) }

func (t *queueTx) each(statement string, args []any, f func(pgx.Rows) error) error {
	return each(t.ctx, t.tx, t.in(statement), args, f)
}

func (t *queueTx) row(statement string, args []any, dest ...any) error {
	return t.tx.QueryRow(t.ctx, t.in(statement), args...).Scan(dest...)
}

// open finds a queue by ID, and reads the clock.
func (t *queueTx) open(id int64) (definition, error) {
	d, err := scanQueue(t.tx.QueryRow(t.ctx, t.in(`SELECT `+queueColumns+`, `+clock+` FROM {schema}.queues q WHERE q.id = $1`), id), &t.now)
	if errors.Is(err, pgx.ErrNoRows) {
		return d, noQueue(id)
	}
	return d, err
}

// target finds a queue by name. It returns absentQueue if the queue must be created first.
func (t *queueTx) target(name string, fifo bool) (definition, error) {
	d, err := t.named(name)
	if errors.Is(err, queue.ErrQueueNotFound) {
		return d, absentQueue{name, fifo}
	}
	return d, err
}

func (t *queueTx) named(name string) (definition, error) {
	if d, ok := t.targets[name]; ok {
		return d, nil
	}
	d, err := scanQueue(t.tx.QueryRow(t.ctx, t.in(`SELECT `+queueColumns+` FROM {schema}.queues q WHERE q.name = $1`), name))
	if errors.Is(err, pgx.ErrNoRows) {
		return d, noQueue(name)
	}
	if err == nil {
		t.targets[name] = d
	}
	return d, err
}

// change records that a lease has changed.
func (t *queueTx) change(m *messageRow) {
	t.touch(m.bucket, m.group)
	if !m.noted {
		t.changed, m.noted = append(t.changed, m), true
	}
}

// take removes a message from its queue and keeps its payload for settle.
func (t *queueTx) take(m *messageRow) {
	t.touch(m.bucket, m.group)
	t.sizes[m.bucket]--
	t.gone, m.left = append(t.gone, m), true
}

func (t *queueTx) remove(m *messageRow) {
	t.take(m)
	m.spent = true
}

// ended counts the outcome of a message that a move task had sent.
func (t *queueTx) ended(m *messageRow, worked bool) {
	if m.Letter || m.task == 0 {
		return
	}
	e := t.endings[m.task]
	if e == nil {
		e = new(ending)
		t.endings[m.task] = e
	}
	if worked {
		e.done++
	} else {
		e.dead++
	}
}

// bury moves a message to its dead-letter queue and returns the queue's name.
func (t *queueTx) bury(m *messageRow, source definition, p queue.Policy, cause *queue.Outcome) (string, error) {
	if p.DeadLetter == "" {
		p.DeadLetter = queue.ImplicitName(source.Name)
	}
	target, err := t.target(p.DeadLetter, source.Settings.FIFO)
	if err != nil {
		return "", err
	}
	earlier, err := m.letter()
	if err != nil {
		return "", err
	}
	before, err := record.DecodeLineage(m.lineage)
	if err != nil {
		return "", err
	}
	letter := m.Die(source.Name, before, earlier, cause, t.now)
	t.ended(m, false)
	t.take(m)
	t.settle(m, target, letter)
	return target.Name, nil
}

// settle adds a taken message to a queue, with its letter, if it has one.
func (t *queueTx) settle(m *messageRow, target definition, letter *queue.Letter) *settled {
	n := settled{target: target, dying: letter}
	n.bucket, n.payload, n.rank, n.since = target.bucket, m.payload, m.rank, t.now
	n.id, n.dedup, n.label, n.Sent, n.lineage = m.id, m.dedup, m.label, m.Sent, m.lineage
	n.Payload, n.Letter, n.Visible = m.Payload, letter != nil, t.now
	if target.Settings.FIFO {
		n.group, n.dedup = m.label, n.id
		t.touch(target.bucket, n.group)
	}
	t.sizes[target.bucket]++
	t.settled = append(t.settled, &n)
	return &n
}

// lapse removes a message that exceeds its queue's retention, or moves it to the
// dead-letter queue and returns that queue's name.
func (t *queueTx) lapse(m *messageRow, source definition, p queue.Policy, cause *queue.Outcome) (string, error) {
	if cause == nil {
		t.ended(m, false)
		t.remove(m)
		return "", nil
	}
	k := t.findCase(m, p)
	next, _ := m.Expire(p, k)
	t.keep(m, k, next)
	return t.bury(m, source, p, cause)
}

// flush stores the collected changes.
func (t *queueTx) flush() error {
	if err := t.makeRoom(); err != nil {
		return err
	}
	var batch pgx.Batch
	if err := errors.Join(t.storeGone(&batch), t.storeChanged(&batch), t.storeSettled(&batch)); err != nil {
		return err
	}
	t.storeCases(&batch)
	t.regroup(&batch)
	if len(t.endings) > 0 {
		tasks := slices.Sorted(maps.Keys(t.endings))
		var done, dead []int64
		for _, task := range tasks {
			done, dead = append(done, t.endings[task].done), append(dead, t.endings[task].dead)
		}
		batch.Queue(t.in(addEndings), tasks, done, dead)
	}
	if len(t.sizes) > 0 {
		buckets := slices.Sorted(maps.Keys(t.sizes))
		var n []int64
		for _, bucket := range buckets {
			n = append(n, t.sizes[bucket])
		}
		batch.Queue(t.in(`INSERT INTO {schema}.queue_tallies AS a (bucket, slot, n)
			SELECT u.bucket, `+slot+`, u.n FROM unnest($1::bigint[], $2::bigint[]) u (bucket, n) WHERE u.n <> 0 ORDER BY u.bucket
			ON CONFLICT (bucket, slot) DO UPDATE SET n = a.n + excluded.n`), buckets, n)
	}
	if batch.Len() == 0 {
		return nil
	}
	return t.tx.SendBatch(t.ctx, &batch).Close()
}

// slot returns a connection's row among a bucket's tallies.
const slot = `(pg_backend_pid() % 64)::smallint`

const addEndings = `INSERT INTO {schema}.queue_endings (task, done, dead)
	SELECT u.task, u.done, u.dead FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) u (task, done, dead)
	WHERE EXISTS (SELECT FROM {schema}.queue_moves v WHERE v.number = u.task)`

// storeChanged stores messages that get a lane last: another copy may leave the lane in the
// same transaction.
func (t *queueTx) storeChanged(batch *pgx.Batch) error {
	// Copies of one payload are updated in a fixed order.
	sorted.Func(t.changed, func(a, b *messageRow) int {
		return cmp.Or(slices.Compare(a.Payload[:], b.Payload[:]), cmp.Compare(a.seq, b.seq))
	})
	var others, flying columns
	for _, m := range t.changed {
		history, err := record.EncodeHistory(m.History)
		if err != nil {
			return err
		}
		c := &others
		if m.Hold == lease.Leased && m.lane == 0 {
			c = &flying
		}
		if !m.left {
			c.add(m.bucket, m.seq, m.Visible, m.Due, m.Generation, m.Received, m.FirstReceived, m.lane,
				int64(m.Receives), int64(m.Holding), int64(m.Hold), m.Worker, orNull(history))
		}
	}
	for _, c := range []columns{others, flying} {
		if len(c) > 0 {
			batch.Queue(t.in(updateLeases), c.args()...)
		}
	}
	return nil
}

const updateLeases = `UPDATE {schema}.queue_messages m SET visible = u.visible, due = u.due, gen = u.gen, received = u.received, first = u.first,
		lane = u.lane, receives = u.receives, holding = u.holding, hold = u.hold, worker = u.worker, history = u.history
	FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
		$9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::text[])
		u (bucket, seq, visible, due, gen, received, first, lane, receives, holding, hold, worker, history)
	WHERE m.bucket = u.bucket AND m.seq = u.seq`

func (t *queueTx) storeGone(batch *pgx.Batch) error {
	if len(t.gone) == 0 {
		return nil
	}
	var state, letters, payloads columns
	for _, m := range t.gone {
		state.add(m.bucket, m.seq)
		if m.Letter {
			letters.add(m.bucket, m.seq)
		}
		if m.spent {
			payloads.add(m.payload)
		}
	}
	for _, table := range []struct {
		name string
		of   columns
	}{{"queue_messages", state}, {"queue_letters", letters}, {"queue_deaths", letters}} {
		if len(table.of) > 0 {
			batch.Queue(t.in(`DELETE FROM {schema}.`+table.name+` m USING unnest($1::bigint[], $2::bigint[]) u (bucket, seq)
				WHERE m.bucket = u.bucket AND m.seq = u.seq`), table.of.args()...)
		}
	}
	if len(payloads) > 0 {
		batch.Queue(t.in(`DELETE FROM {schema}.queue_payloads WHERE payload = ANY ($1::bigint[])`), payloads.args()...)
	}
	return nil
}

func (t *queueTx) storeSettled(batch *pgx.Batch) error {
	if len(t.settled) == 0 {
		return nil
	}
	var c, p columns
	for _, m := range t.settled {
		var doc []byte
		var died int64
		var class, origin, group string
		if l := m.dying; l != nil {
			var err error
			if doc, err = record.EncodeDeath(l); err != nil {
				return err
			}
			died, class, origin, group = l.Died.UnixMicro(), l.Class.String(), l.Origin, l.Group
		}
		c.add(m.bucket, m.payload, m.since, m.Visible, m.task, int64(m.rank), fingerprint(m.Payload), m.group,
			died, len(m.lineage) > 0, class, origin, group, m.id, orNull(doc))
		p.add(m.payload, m.id, m.Sent, m.dedup, orNull(m.lineage))
	}
	batch.Queue(t.in(`WITH n AS MATERIALIZED (
			SELECT nextval('{schema}.queue_sequence') AS seq, u.* FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
				$6::bigint[], $7::bytea[], $8::text[], $9::bigint[], $10::boolean[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[])
				u (bucket, payload, since, visible, task, rank, fp, grp, died, redriven, class, origin, lgroup, id, doc)
		), m AS (
			INSERT INTO {schema}.queue_messages (bucket, seq, payload, since, visible, task, rank, fp, grp, letter)
			SELECT bucket, seq, payload, since, visible, nullif(task, 0), rank, fp, nullif(grp, ''), doc IS NOT NULL FROM n
		), d AS (
			INSERT INTO {schema}.queue_deaths (bucket, seq, died, redriven, class, origin, grp, id)
			SELECT bucket, seq, died, redriven, class, origin, lgroup, id FROM n WHERE doc IS NOT NULL
		) INSERT INTO {schema}.queue_letters (bucket, seq, died, doc) SELECT bucket, seq, died, doc FROM n WHERE doc IS NOT NULL`), c.args()...)
	batch.Queue(t.in(`UPDATE {schema}.queue_payloads p SET id = u.id, sent = u.sent, dedup = u.dedup, lineage = u.lineage
		FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[]) u (payload, id, sent, dedup, lineage)
		WHERE p.payload = u.payload AND (p.id, p.sent, p.dedup) IS DISTINCT FROM (u.id, u.sent, u.dedup)`), p.args()...)
	return nil
}

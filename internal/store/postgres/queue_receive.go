package postgres

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

func (s *queueStore) Receive(ctx context.Context, id int64, c queue.Claim) (queue.Claimed, error) {
	if !c.FIFO {
		key := claimKey{id, c.Policy, c.Visibility, c.Retention}
		got, err := s.claims.run(ctx, key, claimant{c.Max, c.Worker})
		if err != nil || got.done {
			return got.Claimed, err
		}
	}
	return writing(ctx, s, "receive messages", func(t *queueTx) (queue.Claimed, error) {
		d, err := t.open(id)
		if err != nil {
			return queue.Claimed{}, err
		}
		r := newReceiver(t, d, c)
		if c.FIFO {
			err = r.fromGroups()
		} else {
			err = r.fromRanks()
		}
		r.out.Next = until(r.next, t.now)
		slices.Sort(r.out.Queues)
		r.out.Queues = slices.Compact(r.out.Queues)
		return r.out, err
	})
}

// maxLooked is the maximum number of messages that one receive judges. If more of them are
// unavailable, the receive continues at once with a new transaction.
const maxLooked = 1000

// receiver judges messages one by one.
type receiver struct {
	*queueTx
	from   definition
	claim  queue.Claim
	out    queue.Claimed
	next   int64 // time of the next message; negative: never
	over   bool  // no other message may be given
	went   bool  // an examined message left the queue
	looked int
	given  map[int64]bool                 // copies given to one worker need not wait for each other
	lanes  map[bezoar.Fingerprint]bool    // of given payloads
	passed map[bezoar.Fingerprint]bool    // payloads whose copies wait, as do all further ones
	flying map[bezoar.Fingerprint][]int64 // messages that are leased, or were leased and not ended
	states map[int64]*messageRow          // of examined messages, and of copies with expired leases
	busy   map[bezoar.Fingerprint]bool    // another transaction judges them
}

func newReceiver(t *queueTx, from definition, c queue.Claim) *receiver {
	return &receiver{
		queueTx: t, from: from, claim: c, next: -1, given: make(map[int64]bool), lanes: make(map[bezoar.Fingerprint]bool), passed: make(map[bezoar.Fingerprint]bool),
		flying: make(map[bezoar.Fingerprint][]int64), states: make(map[int64]*messageRow), busy: make(map[bezoar.Fingerprint]bool),
	}
}

func (r *receiver) left() int {
	if r.over || r.looked >= maxLooked {
		return 0
	}
	return r.claim.Max - len(r.out.Messages)
}

// later records the time of further messages.
func (r *receiver) later(visible *int64) {
	if visible != nil && (r.next < 0 || *visible < r.next) {
		r.next = *visible
	}
}

// waits is a condition on a message m: it is known to wait for a copy. $1 is the bucket, $2
// the queue, $3 the time, $4 whether payloads are recognized.
const waits = `($4 AND NOT m.letter AND EXISTS (
		SELECT FROM {schema}.queue_messages f WHERE f.bucket = $1 AND f.fp = m.fp AND f.hold = 1 AND NOT f.letter AND f.seq <> m.seq AND f.visible > $3
	) AND EXISTS (
		SELECT FROM {schema}.queue_cases k WHERE k.queue = $2 AND k.fp = m.fp AND NOT (k.state = 0 AND k.proven) AND NOT (k.state = 2 AND k.until > $3)))`

// fromRanks is the counterpart of claimMessages for messages that need a decision.
func (r *receiver) fromRanks() error {
	args := []any{r.from.bucket, r.from.ID, r.now, !r.claim.Poison.Off}
	for r.left() > 0 {
		rows, err := r.read(`WITH o AS MATERIALIZED (
				SELECT m.* FROM generate_series(0, 9) r (rank) CROSS JOIN LATERAL (
					SELECT m.* FROM {schema}.queue_messages m
					WHERE m.bucket = $1 AND m.rank = r.rank AND m.due = 0 AND m.visible <= $3 AND m.seq <> ALL ($5::bigint[])
						AND (m.fp IS NULL OR m.letter OR m.fp <> ALL ($7::bytea[])) AND NOT `+waits+`
					ORDER BY m.visible, m.seq LIMIT $6 FOR UPDATE SKIP LOCKED
				) m LIMIT $6
			) SELECT `+fullColumns+` FROM (SELECT *, row_number() OVER () AS n FROM o) m JOIN {schema}.queue_payloads p ON p.payload = m.payload
			LEFT JOIN {schema}.queue_letters l ON m.letter AND l.bucket = m.bucket AND l.seq = m.seq ORDER BY m.n`,
			append(slices.Clip(args), slices.AppendSeq([]int64{}, maps.Keys(r.states)), r.left(), raw(slices.Collect(maps.Keys(r.passed))))...)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			break
		}
		if err := r.lookAt(rows); err != nil {
			return err
		}
	}
	if len(r.out.Messages) > 0 {
		return nil
	}
	if r.looked >= maxLooked {
		r.later(&r.now)
	}
	var visible *int64
	var held bool
	err := r.row(`SELECT (
			SELECT min(f.visible) FROM generate_series(0, 9) r (rank) CROSS JOIN LATERAL (
				SELECT m.visible FROM {schema}.queue_messages m WHERE m.bucket = $1 AND m.rank = r.rank AND m.due = 0 AND m.visible > $3
				ORDER BY m.visible LIMIT 1) f
		), EXISTS (
			SELECT FROM generate_series(0, 9) r (rank) CROSS JOIN LATERAL (
				SELECT FROM {schema}.queue_messages m WHERE m.bucket = $1 AND m.rank = r.rank AND m.due = 0 AND m.visible <= $3 AND `+waits+`
				LIMIT 1) m)`, args, &visible, &held)
	r.later(visible)
	r.out.Held = r.out.Held || held
	return err
}

// fromGroups takes the first groups in line that no other transaction uses.
func (r *receiver) fromGroups() error {
	seen := []string{}
	for r.left() > 0 {
		var groups []string
		err := r.each(`SELECT g FROM (
				SELECT grp AS g FROM {schema}.queue_groups WHERE bucket = $2 AND ready <= $3 AND grp <> ALL ($4::text[]) ORDER BY ready, grp LIMIT 256
			) o WHERE pg_try_advisory_xact_lock(`+groupStripe+`) LIMIT $5`,
			[]any{r.s.locks + ofGroups, r.from.bucket, r.now, seen, r.left()}, func(rows pgx.Rows) error {
				groups = append(groups, "")
				return rows.Scan(&groups[len(groups)-1])
			})
		if err != nil {
			return err
		}
		if len(groups) == 0 {
			break
		}
		seen = append(seen, groups...)
		// With the locks held, read the changes of earlier lock holders.
		rows, err := r.read(`SELECT `+fullColumns+` FROM {schema}.queue_groups g CROSS JOIN LATERAL (
				SELECT m.* FROM {schema}.queue_messages m WHERE m.bucket = g.bucket AND m.grp = g.grp AND m.due = 0 AND m.visible <= $2
					AND m.seq < coalesce((SELECT l.seq FROM (SELECT g.bucket, g.grp, $2::bigint AS now) u CROSS JOIN LATERAL (`+lockOf+`) l), $5)
				ORDER BY m.seq LIMIT $4
			) m JOIN {schema}.queue_payloads p ON p.payload = m.payload
			LEFT JOIN {schema}.queue_letters l ON m.letter AND l.bucket = m.bucket AND l.seq = m.seq
			WHERE g.bucket = $1 AND g.grp = ANY ($3::text[]) AND g.ready <= $2 ORDER BY array_position($3::text[], g.grp), m.seq`,
			r.from.bucket, r.now, groups, r.left(), int64(math.MaxInt64))
		if err != nil {
			return err
		}
		if err := r.lookAt(rows); err != nil {
			return err
		}
	}
	if len(r.out.Messages) > 0 {
		return nil
	}
	var ready *int64
	err := r.row(`SELECT min(ready) FROM {schema}.queue_groups WHERE bucket = $1 AND grp <> ALL ($2::text[])`, []any{r.from.bucket, seen}, &ready)
	r.later(ready)
	if r.went { // more of its group may be visible
		r.later(&r.now)
	}
	return err
}

func (r *receiver) read(statement string, args ...any) (found []*fullRow, err error) {
	err = r.each(statement, args, func(rows pgx.Rows) error {
		f, err := scanFull(rows)
		found = append(found, &f)
		return err
	})
	return found, err
}

// lookAt judges messages. It continues within a FIFO group only while the previous message
// does not stay.
func (r *receiver) lookAt(rows []*fullRow) error {
	if err := r.loadCases(rows); err != nil {
		return err
	}
	blocked := ""
	for _, m := range rows {
		if r.left() == 0 {
			break
		}
		if m.group != "" && m.group == blocked {
			continue
		}
		r.looked++
		stays, err := r.look(m)
		if err != nil {
			return err
		}
		if stays {
			blocked = m.group
		}
		r.went = r.went || !stays
	}
	return nil
}

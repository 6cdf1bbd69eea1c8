package postgres

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/queue/lease"
)

// loadCases reads the cases and the copies in flight of payloads that no other transaction
// is judging, and locks them until the transaction ends. Messages whose payload another
// transaction judges are skipped.
func (r *receiver) loadCases(rows []*fullRow) error {
	states := make([]*messageRow, len(rows))
	for i := range rows {
		states[i] = &rows[i].messageRow
		if r.states[rows[i].seq] == nil {
			r.states[rows[i].seq] = states[i]
		}
	}
	all := prints(states, r.claim.Policy)
	if len(all) == 0 {
		return nil
	}
	if err := r.tryCases(all); err != nil {
		return err
	}
	if err := r.readCases(r.from.ID, all); err != nil {
		return err
	}
	over := []int64{}
	err := r.each(`SELECT fp, seq, visible <= $3 FROM {schema}.queue_messages
		WHERE bucket = $1 AND fp = ANY ($2::bytea[]) AND hold = 1 AND NOT letter`, []any{r.from.bucket, raw(all), r.now}, func(rows pgx.Rows) error {
		var fp []byte
		var seq int64
		var ended bool
		if err := rows.Scan(&fp, &seq, &ended); err != nil {
			return err
		}
		f := bezoar.Fingerprint(fp)
		if !slices.Contains(r.flying[f], seq) {
			r.flying[f] = append(r.flying[f], seq)
		}
		if ended && r.states[seq] == nil {
			over = append(over, seq)
		}
		return nil
	})
	if err != nil || len(over) == 0 {
		return err
	}
	return r.loadCopies(over)
}

// tryCases locks the free stripes.
func (r *receiver) tryCases(all []bezoar.Fingerprint) error {
	locks := make([]int64, len(all))
	for i, f := range all {
		locks[i] = r.s.caseLock(f)
	}
	return r.each(`SELECT k, pg_try_advisory_xact_lock(k) FROM (SELECT DISTINCT k FROM unnest($1::bigint[]) k) o`, []any{locks}, func(rows pgx.Rows) error {
		var lock int64
		var mine bool
		err := rows.Scan(&lock, &mine)
		for _, f := range all {
			if r.s.caseLock(f) == lock {
				r.busy[f] = !mine
			}
		}
		return err
	})
}

// loadCopies reads copies with expired leases, to end their deliveries. If another
// transaction has locked one, its payload is busy.
func (r *receiver) loadCopies(over []int64) error {
	err := r.each(`SELECT `+stateColumns+` FROM`+fromMessages+` CROSS JOIN LATERAL (SELECT m.grp AS g) g
		WHERE m.bucket = $2 AND m.seq = ANY ($3::bigint[]) AND (m.grp IS NULL OR pg_try_advisory_xact_lock(`+groupStripe+`))
		ORDER BY m.seq FOR UPDATE OF m SKIP LOCKED`, []any{r.s.locks + ofGroups, r.from.bucket, over}, func(rows pgx.Rows) error {
		m := new(messageRow)
		err := m.scan(rows)
		r.states[m.seq] = m
		return err
	})
	for f, seqs := range r.flying {
		r.busy[f] = r.busy[f] || slices.ContainsFunc(seqs, func(seq int64) bool {
			return slices.Contains(over, seq) && r.states[seq] == nil
		})
	}
	return err
}

// settleCopies ends the deliveries of a message's copies whose leases have expired. It
// reports whether a copy is in flight that was not given by this call.
func (r *receiver) settleCopies(m *messageRow) (flies bool, err error) {
	for _, seq := range r.flying[m.Payload] {
		other := r.states[seq]
		if seq == m.seq || r.given[seq] || other != nil && other.left {
			continue
		}
		if other == nil || other.Locks(r.now) {
			flies = true
			continue
		}
		if other.Hold != lease.Leased {
			continue
		}
		k := r.findCase(other, r.claim.Policy)
		next, dead := other.Expire(r.claim.Policy, k)
		r.keep(other, k, next)
		if !dead {
			r.change(other)
			continue
		}
		gained, err := r.bury(other, r.from, r.claim.Policy, nil)
		if err != nil {
			return flies, err
		}
		r.out.Queues = append(r.out.Queues, gained)
	}
	return flies, nil
}

// look decides what to do with one visible message, and reports whether it stays.
func (r *receiver) look(f *fullRow) (stays bool, err error) {
	m, judged := &f.messageRow, f.Judged(r.claim.Policy)
	if m.left {
		return false, nil
	}
	if judged && r.busy[m.Payload] || r.states[m.seq] != m { // or it is known, as a copy whose delivery was just ended
		r.later(&r.now)
		return true, nil
	}
	if m.since <= r.now-r.claim.Retention.Microseconds() {
		gained, err := r.lapse(m, r.from, r.claim.Policy, m.Lapse(r.claim.Policy, r.claim.Retention))
		if gained != "" {
			r.out.Queues = append(r.out.Queues, gained)
		}
		return false, err
	}
	copied := false
	if judged {
		if copied, err = r.settleCopies(m); err != nil {
			return false, err
		}
	}
	k, hold := r.findCase(m, r.claim.Policy), m.Hold
	ruling := m.Receive(r.claim, k, copied, len(r.out.Messages) == 0, r.now)
	r.keep(m, k, ruling.Case)
	switch ruling.Step {
	case lease.Bury:
		gained, err := r.bury(m, r.from, r.claim.Policy, ruling.Cause)
		r.out.Queues = append(r.out.Queues, gained)
		return false, err
	case lease.Give, lease.Only:
		r.give(f, judged, ruling)
		return false, nil
	case lease.Defer:
		r.change(m)
		r.out.Due = true
		return false, nil
	case lease.Pass:
	}
	if m.Hold != hold {
		r.change(m)
	}
	if copied {
		r.passed[m.Payload], r.out.Held = true, true
	}
	return true, nil
}

// give delivers a message. Of copies that go together the first has the lane, unless copies
// need not wait for it.
func (r *receiver) give(f *fullRow, judged bool, ruling lease.Ruling) {
	m := &f.messageRow
	m.lane = m.seq
	if k := ruling.Case; judged && !r.lanes[m.Payload] && !m.Together(k) && (k == nil || !k.Proven) {
		m.lane, r.lanes[m.Payload] = 0, true
	}
	r.given[m.seq] = true
	r.change(m)
	shown := f.show(r.now, true)
	shown.Alone = ruling.Step == lease.Only
	r.over = shown.Alone
	r.out.Messages = append(r.out.Messages, shown)
}

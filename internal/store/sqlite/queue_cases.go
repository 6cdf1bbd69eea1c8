package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

// payload scans a fingerprint; NULL becomes the zero fingerprint.
type payload bezoar.Fingerprint

func (p *payload) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*p = payload{}
	case []byte:
		if len(v) != len(p) {
			return fmt.Errorf("a payload's fingerprint has %d bytes", len(v))
		}
		copy(p[:], v)
	default:
		return fmt.Errorf("a payload's fingerprint is a %T", src)
	}
	return nil
}

// stored returns the column value of a fingerprint.
func stored(p *bezoar.Fingerprint) any {
	if p.IsZero() {
		return nil
	}
	return p[:]
}

const caseColumns = `payload, state, proven, strikes, level, since, touched, until, same, class, failure, reason`

func scanCase(scan func(...any) error) (c queue.PayloadCase, err error) {
	var class string
	err = scan((*payload)(&c.Payload), &c.State, &c.Proven, &c.Strikes, &c.Level, &c.Since, &c.Touched, &c.Until, &c.Same,
		&class, &c.Failure, &c.Reason)
	if err != nil {
		return c, err
	}
	return c, c.Class.UnmarshalText([]byte(class))
}

// findCase returns the case of a payload; nil: none.
func (t *queueTx) findCase(id int64, p bezoar.Fingerprint) (*poison.Case, error) {
	if _, ok := t.cache.cases[caseKey{id, p}]; !ok {
		return nil, nil
	}
	c, err := scanCase(func(dest ...any) error {
		return t.row(`SELECT `+caseColumns+` FROM queue_cases WHERE queue = ? AND payload = ?`, []any{id, p[:]}, dest...)
	})
	return &c.Case, err
}

// judged returns the case of a message, if it matters.
func (t *queueTx) judged(id int64, m *messageRow, p queue.Policy) (*poison.Case, error) {
	if !m.Judged(p) {
		return nil, nil
	}
	return t.findCase(id, m.Payload)
}

// keepCase stores the case of a payload.
func (t *queueTx) keepCase(id int64, p bezoar.Fingerprint, c *poison.Case) error {
	key := caseKey{id, p}
	if c == nil {
		t.cache.close(key)
		return t.exec(`DELETE FROM queue_cases WHERE queue = ? AND payload = ?`, id, p[:])
	}
	if _, ok := t.cache.cases[key]; !ok && t.cache.known[id] >= queue.MaxCases {
		if room, err := t.makeRoom(id); err != nil || !room {
			return err
		}
	}
	t.cache.open(key)
	return t.exec(`INSERT INTO queue_cases (queue, `+caseColumns+`, kept) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
		ON CONFLICT (queue, payload) DO UPDATE SET state = ?3, proven = ?4, strikes = ?5, level = ?6, since = ?7, touched = ?8,
			until = ?9, same = ?10, class = ?11, failure = ?12, reason = ?13, kept = ?14`,
		id, p[:], int(c.State), c.Proven, c.Strikes, c.Level, c.Since, c.Touched, c.Until, c.Same,
		c.Class.String(), c.Failure, c.Reason, record.KeptFrom(c))
}

// makeRoom drops the most expendable case; quarantined ones stay.
func (t *queueTx) makeRoom(id int64) (bool, error) {
	var p payload
	err := t.row(`DELETE FROM queue_cases WHERE (queue, payload) IN (SELECT queue, payload FROM queue_cases
		WHERE queue = ? AND state < ? ORDER BY state, touched LIMIT 1) RETURNING payload`, []any{id, int(poison.Quarantined)}, &p)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	t.cache.close(caseKey{id, bezoar.Fingerprint(p)})
	return err == nil, err
}

func (s *queueStore) Cases(ctx context.Context, id int64, state, limit int) ([]queue.PayloadCase, error) {
	var q query
	q.add(`SELECT `+caseColumns+` FROM queue_cases WHERE queue = ?`, id)
	if state >= 0 {
		q.add(`AND state = ?`, state)
	}
	q.add(`ORDER BY touched DESC, payload LIMIT ?`, limit)
	found, err := collect(ctx, s.db.reader, &q, scanCase)
	if err != nil {
		return nil, s.db.fault(ctx, err, "list payloads")
	}
	if len(found) == 0 {
		return nil, s.exists(ctx, id)
	}
	return found, nil
}

func (s *queueStore) ChangeCase(ctx context.Context, id int64, p bezoar.Fingerprint, change func(*poison.Case, int64) *poison.Case) error {
	return s.write(ctx, "change what is known of a payload", func(t *queueTx) error {
		d, err := t.open(id)
		if err != nil {
			return err
		}
		k, err := t.findCase(id, p)
		if err != nil {
			return err
		}
		next := change(k, t.now)
		if err := t.keepCase(id, p, next); err != nil {
			return err
		}
		return t.unpark(d, p, next)
	})
}

func (s *queueStore) Vanish(ctx context.Context, id int64, receipts []queue.Receipt, holding int) error {
	return s.write(ctx, "note that a worker has vanished", func(t *queueTx) error {
		d, err := t.open(id)
		if err != nil {
			return err
		}
		for _, r := range receipts {
			m, found, err := t.state(r)
			if err != nil {
				return err
			}
			if !found || m.bucket != d.bucket || !m.Vanish(r, holding, t.now) {
				continue
			}
			if err := t.update(&m); err != nil {
				return err
			}
		}
		return nil
	})
}

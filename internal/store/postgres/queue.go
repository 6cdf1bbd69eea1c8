package postgres

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bezoar-dev/bezoar/internal/store/tables"
	"github.com/bezoar-dev/bezoar/queue"
)

// queueStore stores queues. It uses the server's clock: a call reads the clock once, in its
// statement or transaction, after it has acquired its locks.
//
// The ordinary send, receive and delete of a standard queue are one statement each. Calls
// that arrive while others run share a statement. Calls that need a decision (an expired
// lease, exhausted receives, a payload with a case or with copies in flight), and all calls
// on FIFO queues, use a transaction, in which package record decides.
//
// Locks are always acquired in this order, to avoid deadlocks:
//
//  1. the row of a move task
//  2. stripes of FIFO groups, by number; a group has the same one in all queues
//  3. deduplication keys, in order
//  4. messages, by bucket and number
//  5. stripes of payloads, by number
//  6. rows of a single message, then cases, groups and tallies, in order
//
// A receive and a move lock messages, and a receive also stripes, only if they are free.
// Stripes are advisory locks of the transaction. If the server detects a deadlock
// nevertheless, or two receives pick copies of one payload at once, the transaction is
// repeated; see attempts.
type queueStore struct {
	tables.MarkStore
	db     *DB
	schema string
	locks  int64 // first advisory lock of this schema

	sends   combiner[int64, []queue.Entry, []queue.Sent]
	claims  combiner[claimKey, claimant, claimed]
	deletes combiner[int64, []queue.Receipt, deleted]
	cases   caseTally
}

var _ queue.Store = (*queueStore)(nil)

// attempts is the maximum number of times that a transaction is run after conflicts.
const attempts = 10

func newQueueStore(db *DB, schema string) *queueStore {
	h := fnv.New64a()
	fmt.Fprintf(h, "bezoar queues of %s", schema)
	s := &queueStore{MarkStore: tables.MarkStore{DB: db.shared}, db: db, schema: schema, locks: int64(h.Sum64() &^ (lockSpace - 1))} //nolint:gosec // any bits will do
	s.combine()
	return s
}

// combine decides which calls share a statement.
func (s *queueStore) combine() {
	s.sends.weight = weigh
	s.sends.do = s.sendTogether
	s.sends.alone = s.sendAlone
	s.claims.weight = func(c claimant) int { return c.most }
	s.claims.do = s.claimTogether
	s.claims.alone = s.claimAlone
	s.claims.lost = s.giveBack
	s.deletes.weight = func(receipts []queue.Receipt) int { return len(receipts) }
	s.deletes.do = s.deleteTogether
	s.deletes.alone = s.deleteAlone
}

// Shared returns true: any process may use the schema.
func (s *queueStore) Shared() bool { return true }

func (s *queueStore) in(statement string) string { return inSchema(s.schema, statement) }

// clock is the server's time in microseconds.
const clock = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

// absentQueue means that a required queue does not exist.
type absentQueue struct {
	name string
	fifo bool
}

func (e absentQueue) Error() string { return fmt.Sprintf("queue %q is needed and not there", e.name) }

// again repeats do after conflicts. A failed do has been rolled back.
func (s *queueStore) again(ctx context.Context, what string, do func() error) error {
	var err error
	for n := range attempts {
		if n > 0 {
			select {
			case <-time.After(rand.N(time.Duration(n) * 4 * time.Millisecond)):
			case <-ctx.Done():
				return s.db.fault(ctx, err, "%s", what)
			}
		}
		if err = do(); err == nil {
			return nil
		}
		if absent, ok := errors.AsType[absentQueue](err); ok {
			q := queue.ImplicitQueue(absent.name, absent.fifo)
			if _, err := s.CreateQueue(ctx, q); err != nil && !errors.Is(err, queue.ErrQueueExists) {
				return err
			}
			continue
		}
		if !inTheWay(err) {
			break
		}
	}
	if queue.CodeOf(err) != "" {
		return err
	}
	return s.db.fault(ctx, err, "%s", what)
}

// inTheWay reports whether a transaction failed because of a concurrent one.
func inTheWay(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (refused.Code == "40001" || refused.Code == "40P01" ||
		refused.Code == "23505" && refused.ConstraintName == "queue_messages_flying")
}

// write runs do in a transaction and stores its changes. do may run several times.
func (s *queueStore) write(ctx context.Context, what string, do func(*queueTx) error) error {
	return s.again(ctx, what, func() error {
		return pgx.BeginFunc(ctx, s.db.pool, func(tx pgx.Tx) error {
			t := newQueueTx(ctx, s, tx)
			if err := do(t); err != nil {
				return err
			}
			return t.flush()
		})
	})
}

func writing[T any](ctx context.Context, s *queueStore, what string, do func(*queueTx) (T, error)) (T, error) {
	var out, none T
	err := s.write(ctx, what, func(t *queueTx) (err error) {
		out, err = do(t)
		return err
	})
	if err != nil {
		return none, err
	}
	return out, nil
}

// each runs a query and calls f for each row.
func each(ctx context.Context, db querier, statement string, args []any, f func(pgx.Rows) error) error {
	rows, err := db.Query(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// until returns the time until then; negative if then is negative.
func until(then, now int64) time.Duration {
	if then < 0 {
		return -1
	}
	return time.Duration(max(then-now, 0)) * time.Microsecond
}

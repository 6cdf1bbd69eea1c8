package postgres_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/store/postgres"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/queue/queuetest"
)

// older makes everything about queues older by ? microseconds.
const older = `
	UPDATE {schema}.queue_payloads SET sent = sent - ?;
	UPDATE {schema}.queue_messages SET since = since - ?, visible = visible - ?, received = received - ?,
		due = CASE WHEN due > 0 THEN due - ? ELSE 0 END, first = CASE WHEN first > 0 THEN first - ? ELSE 0 END;
	UPDATE {schema}.queue_groups SET ready = ready - ?;
	UPDATE {schema}.queue_dedups SET sent = sent - ?;
	UPDATE {schema}.queue_leftovers SET since = since - ?;
	UPDATE {schema}.queue_letters SET died = died - ?; UPDATE {schema}.queue_deaths SET died = died - ?;
	UPDATE {schema}.queue_cases SET since = since - ?, touched = touched - ?, until = CASE WHEN until > 0 THEN until - ? ELSE 0 END;
	UPDATE {schema}.queue_moves SET started = started - ?, next = next - ?, ended = CASE WHEN ended > 0 THEN ended - ? ELSE 0 END;
	UPDATE {schema}.queue_marks SET put = put - ?, until = until - ?;
	UPDATE {schema}.queue_audit SET at = at - ?;`

// emptied makes a store as if it were new: a schema takes longer to make than
// most tests do.
const emptied = `
	DELETE FROM {schema}.queues WHERE name <> '.trash'; DELETE FROM {schema}.queue_messages; DELETE FROM {schema}.queue_payloads;
	DELETE FROM {schema}.queue_tallies; DELETE FROM {schema}.queue_groups; DELETE FROM {schema}.queue_dedups;
	DELETE FROM {schema}.queue_leftovers; DELETE FROM {schema}.queue_letters; DELETE FROM {schema}.queue_deaths; DELETE FROM {schema}.queue_cases;
	DELETE FROM {schema}.queue_moves; DELETE FROM {schema}.queue_endings; DELETE FROM {schema}.queue_marks; DELETE FROM {schema}.queue_audit`

// convicts are cases of queue $1 with fingerprints $2 and class $3.
const convicts = `
	INSERT INTO {schema}.queue_cases (queue, fp, state, proven, strikes, level, since, touched, until, same, class, failure, reason)
	SELECT $1, u.fp, 2, false, 0, 0, 0, u.n, 0, 0, $3, '', '' FROM unnest($2::bytea[]) WITH ORDINALITY u (fp, n)`

// openStores keeps open stores between tests.
type openStores struct {
	at string

	mu      sync.Mutex // guards all below
	free    []*postgres.DB
	configs map[*postgres.DB]postgres.Config
	opened  map[queue.Store]*postgres.DB
}

func (s *openStores) find(of queue.Store) (*postgres.DB, postgres.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened[of], s.configs[s.opened[of]]
}

// lend opens a store until the test is over.
func (s *openStores) lend(t *testing.T, db *postgres.DB, c postgres.Config) queue.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.configs[db], s.opened[db.Queue()] = c, db
	t.Cleanup(func() {
		s.mu.Lock()
		_, ok := s.configs[db]
		s.mu.Unlock()
		if !ok {
			return // reopened: its successor has emptied the schema, and may be lent again
		}
		run(t, inSchema(c.Schema, emptied))
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free = append(s.free, db)
	})
	return db.Queue()
}

func (s *openStores) take() (*postgres.DB, postgres.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.free) - 1
	if n < 0 {
		return nil, postgres.Config{}
	}
	db := s.free[n]
	s.free = s.free[:n]
	return db, s.configs[db]
}

func (s *openStores) reopen(t *testing.T, top testing.TB, of queue.Store) queue.Store {
	db, c := s.find(of)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	delete(s.configs, db)
	s.mu.Unlock()
	return s.lend(t, open(top, c), c)
}

// queueHarness makes stores at a URL, for so many random games each; what it opens lives as long as top.
func queueHarness(top *testing.T, at string, games int64) queuetest.Harness {
	s := &openStores{at: at, configs: map[*postgres.DB]postgres.Config{}, opened: map[queue.Store]*postgres.DB{}}
	find := s.find
	clocks, err := pgxpool.New(top.Context(), server(top))
	if err != nil {
		top.Fatal(err)
	}
	top.Cleanup(clocks.Close)
	return queuetest.Harness{
		Games: games,
		Around: func(t *testing.T, test func(*testing.T)) {
			t.Parallel() // they mostly wait for the server
			test(t)
		},
		Open: func(t *testing.T) queue.Store {
			db, c := s.take()
			if db == nil {
				c = postgres.Config{URL: at, Schema: newSchema(top)}
				db = open(top, c)
			}
			return s.lend(t, db, c)
		},
		Reopen: func(t *testing.T, of queue.Store) queue.Store { return s.reopen(t, top, of) },
		Convict: func(t testing.TB, s queue.Store, id int64, payloads []bezoar.Fingerprint) {
			t.Helper()
			_, c := find(s)
			all := make([][]byte, len(payloads))
			for i := range all {
				all[i] = payloads[i][:]
			}
			if _, err := clocks.Exec(t.Context(), inSchema(c.Schema, convicts), id, all, bezoar.Class(0).String()); err != nil {
				t.Fatal(err)
			}
		},
		Age: func(t testing.TB, s queue.Store, d time.Duration) {
			t.Helper()
			_, c := find(s)
			text := strings.ReplaceAll(inSchema(c.Schema, older), "?", strconv.FormatInt(d.Microseconds(), 10))
			for statement := range strings.SplitSeq(text, ";") { // each by itself: others are at work
				if _, err := clocks.Exec(t.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
					t.Fatal(err)
				}
			}
		},
	}
}

func TestQueue(t *testing.T) { queuetest.Run(t, queueHarness(t, server(t), 4)) }

func TestQueueBehindPgBouncer(t *testing.T) {
	pace.Alone(t) // what runs at once is the same without it
	server(t)
	at := os.Getenv("BEZOAR_TEST_PGBOUNCER")
	if at == "" {
		t.Skip("no PgBouncer: run make test, or export BEZOAR_TEST_PGBOUNCER=$(scripts/postgres pgbouncer)")
	}
	h := queueHarness(t, at, 2)
	h.Again = true // statements differ there, rules do not
	queuetest.Run(t, h)
}

// Every way of pgx to run a statement encodes arrays and nothing at all in its
// own way.
func TestQueueExecModes(t *testing.T) {
	at := server(t)
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := open(t, postgres.Config{URL: with(t, at, "default_query_exec_mode", mode), Schema: newSchema(t)}).Queue()
			for _, name := range []string{"jobs", "jobs.fifo"} {
				for range 6 { // later ones may use what earlier ones cached
					tour(t, s, name)
				}
			}
		})
	}
}

// tour has a message of every kind go everywhere.
func tour(t *testing.T, s queue.Store, name string) {
	t.Helper()
	ctx, fifo := t.Context(), strings.HasSuffix(name, ".fifo")
	q, err := s.CreateQueue(ctx, queue.ImplicitQueue(name, fifo))
	if err != nil && queue.CodeOf(err) != queue.ErrQueueExists {
		t.Fatal(err)
	}
	p := queue.Policy{FIFO: fifo, DeadLetter: queue.ImplicitName(name), Implicit: true}
	key := fmt.Sprint(time.Now().UnixNano())
	plain := queue.Entry{ID: "plain" + key, FIFO: fifo, SendInput: queue.SendInput{Body: []byte("\x00\xff'\\"), Group: `{"a",b}`}}
	full := queue.Entry{ID: "full" + key, FIFO: fifo, Payload: bezoar.Fingerprint{0xff, '\\'}, SendInput: queue.SendInput{
		Body: []byte("NULL"), Group: "NULL", Sender: `it's "me"`, Attributes: map[string]queue.Attribute{"a\"": {DataType: "Binary", Binary: []byte{0, 255}}},
	}}
	if fifo {
		plain.DedupKey, full.DedupKey = key+"\x001", key+"\x002"
	}
	ok := func(doing string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", doing, err)
		}
	}
	_, err = s.Send(ctx, q.ID, []queue.Entry{plain, full})
	ok("send", err)
	claimed, err := s.Receive(ctx, q.ID, queue.Claim{Policy: p, Max: 10, Visibility: time.Minute, Retention: time.Hour, Worker: `{w}`})
	ok("receive", err)
	byID := map[string]queue.Message{}
	for _, m := range claimed.Messages {
		byID[m.ID] = m
	}
	if m := byID[plain.ID]; string(m.Body) != string(plain.Body) || m.Group != plain.Group || len(byID) != 2 {
		t.Fatalf("received %+v", claimed.Messages)
	}
	if m := byID[full.ID]; string(m.Body) != "NULL" || m.Sender != full.Sender || m.Payload != full.Payload || len(m.Attributes[`a"`].Binary) != 2 {
		t.Fatalf("received %+v", m)
	}
	ok("vanish", s.Vanish(ctx, q.ID, []queue.Receipt{byID[full.ID].Receipt}, 2))
	results, err := s.Delete(ctx, q.ID, fifo, []queue.Receipt{byID[plain.ID].Receipt})
	ok("delete", errors.Join(append(results, err)...))
	results, err = s.Change(ctx, q.ID, p, []queue.Change{{Receipt: byID[full.ID].Receipt, Release: true, Dead: true, Outcome: &queue.Outcome{
		Class: bezoar.Crash, Failure: `{f,"}`, Reason: `it's \ over`,
	}}})
	ok("release", errors.Join(append(results, err)...))
	groups, err := s.Groups(ctx, queue.Selection{Queue: p.DeadLetter, Groups: []string{`crash:{f,"}`}}, 10)
	ok("groups", err)
	if len(groups) != 1 || groups[0].Count != 1 || groups[0].Reason != `it's \ over` {
		t.Fatalf("groups %+v", groups)
	}
	task, err := s.StartMove(ctx, queue.MoveTask{ID: "task" + key, Kind: queue.MoveDiscard, Source: p.DeadLetter, Rate: 100, Selection: queue.Selection{IDs: []string{full.ID}}})
	ok("start a move", err)
	step, err := s.StepMove(ctx, task.ID, 10)
	ok("step", err)
	if step.Moved != 1 || step.Task.State != queue.MoveCompleted {
		t.Fatalf("step %+v", step)
	}
	ok("forget", s.ChangeCase(ctx, q.ID, full.Payload, func(*poison.Case, int64) *poison.Case { return nil }))
	_, err = s.PutMark(ctx, queue.Mark{Key: "k" + key, Doc: []byte(`"\u0000"`), TTL: time.Minute})
	ok("put a mark", err)
	_, err = s.Audit(ctx, queue.AuditEntry{Actor: "\x00\xff", Action: "a"})
	ok("audit", err)
	if c, err := s.Counts(ctx, q.ID); err != nil || c != (queue.Counts{}) {
		t.Fatalf("counts %+v, %v", c, err)
	}
}

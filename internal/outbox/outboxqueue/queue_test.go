package outboxqueue_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bezoar-dev/bezoar"
	outboxpg "github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/postgres"
	"github.com/bezoar-dev/bezoar/internal/outbox/outboxqueue"
	"github.com/bezoar-dev/bezoar/internal/store/postgres"
	"github.com/bezoar-dev/bezoar/outbox"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/queue"
)

// plain sends the payload of each event as a message.
type plain struct {
	q     outboxqueue.Queue
	fails *atomic.Bool
}

func (p plain) Send(ctx context.Context, records []outbox.Record) []error {
	results := make([]error, len(records))
	for i, r := range records {
		sent, err := p.q.SendBatch(ctx, "orders", []queue.SendInput{{Body: r.Payload}})
		switch {
		case err != nil:
			results[i] = err
		case errors.Is(sent[0].Err, queue.ErrTooLarge) || errors.Is(sent[0].Err, queue.ErrInvalid):
			results[i] = &outbox.Failure{Class: bezoar.Invalid, Reason: sent[0].Err.Error()}
		}
	}
	if p.fails.Load() {
		results[len(results)-1] = errors.New("the place failed after it sent")
	}
	return results
}

func (plain) Close() error { return nil }

// soon is a wait for tests.
func soon() backoff.Config { return backoff.Config{Base: time.Millisecond, Cap: time.Millisecond} }

// world is an outbox and a queue in one database.
type world struct {
	pool   *pgxpool.Pool
	store  *outboxpg.Store
	engine *queue.Engine
	db     *postgres.DB
	schema string
	fails  atomic.Bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	url := os.Getenv("BEZOAR_TEST_POSTGRES")
	if url == "" {
		t.Skip("BEZOAR_TEST_POSTGRES names no database; scripts/with-servers starts one")
	}
	ctx := t.Context()
	w := &world{schema: "j_" + strings.ToLower(rand.Text())[:12]}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	w.pool, err = pgxpool.New(ctx, url)
	check(err)
	t.Cleanup(w.pool.Close)
	check(outboxpg.Init(ctx, outboxpg.Config{URL: url, Schema: w.schema}))
	w.store, err = outboxpg.Open(ctx, outboxpg.Config{URL: url + "&application_name=" + w.schema, Schema: w.schema})
	check(err)
	w.db, err = postgres.Open(ctx, postgres.Config{URL: url, Schema: w.schema + "_b"})
	check(err)
	t.Cleanup(func() {
		_ = w.store.Close()
		_ = w.db.Close()
		_, err := w.pool.Exec(context.Background(), fmt.Sprintf(`DROP SCHEMA %[1]s CASCADE; DROP SCHEMA %[1]s_b CASCADE`, w.schema), pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Error(err)
		}
	})
	w.engine, err = queue.New(queue.Config{}, w.db.Queue())
	check(err)
	_, err = w.engine.CreateQueue(ctx, "orders", queue.DefaultSettings(), nil)
	check(err)
	return w
}

func (w *world) sink(t *testing.T) *outboxqueue.Sink {
	t.Helper()
	s, err := outboxqueue.New(w.engine, w.db, func(q outboxqueue.Queue) (outbox.Sink, error) { return plain{q, &w.fails}, nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) messages(t *testing.T) (n int) {
	t.Helper()
	if err := w.pool.QueryRow(t.Context(), `SELECT count(*) FROM `+w.schema+`_b.queue_messages`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestOneDatabase(t *testing.T) {
	w := newWorld(t)
	for name, test := range map[string]func(*testing.T, *world){
		"exactly once": testExactlyOnce, "sessions that end": testSessionsEnd, "an answer that is lost": testALostAnswer, "a transaction of the caller": testSendTx,
	} {
		t.Run(name, func(t *testing.T) {
			for _, table := range []string{"pending", "events", "flights", "keys", "lease"} {
				w.exec(t, `DELETE FROM {outbox}.`+table)
			}
			w.exec(t, `INSERT INTO {outbox}.lease DEFAULT VALUES`)
			w.exec(t, `DELETE FROM {outbox}_b.queue_messages`)
			test(t, w)
		})
	}
}

func (w *world) exec(t *testing.T, statement string) {
	t.Helper()
	if _, err := w.pool.Exec(t.Context(), strings.ReplaceAll(statement, "{outbox}", w.schema)); err != nil {
		t.Fatal(err)
	}
}

// testExactlyOnce settles in the transaction that sends: whatever fails between,
// no message is there twice.
func testExactlyOnce(t *testing.T, w *world) {
	ctx := t.Context()
	sink := w.sink(t)
	if in, err := w.store.Within(ctx, sink); err != nil || !in {
		t.Fatalf("the queue is in the outbox's database: %v, %v", in, err)
	}
	tx, err := w.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	const n = 30
	events := []outbox.Event{{Topic: "t", Payload: make([]byte, 2<<20), ID: "too large"}}
	for i := range n {
		events = append(events, outbox.Event{Topic: "t", Key: fmt.Sprint(i % 3), Payload: fmt.Append(nil, i)})
	}
	if err := errors.Join(outbox.Write(ctx, outbox.Pgx(tx).In(w.schema), events...), tx.Commit(ctx)); err != nil {
		t.Fatal(err)
	}
	w.fails.Store(true) // it has sent all but says that it failed
	r, err := outbox.New(outbox.Config{
		Store: w.store, Owner: "test", ParkAfter: 1, Events: 7, Pause: soon(), Retry: soon(),
		Sinks: []outbox.Route{{Name: "queue", Topics: []string{"t"}, Sink: sink}},
	})
	if err != nil {
		t.Fatal(err)
	}
	run, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- r.Run(run) }()
	until(t, func() bool { s := r.Stats().Sinks[0]; return s.Paused && s.Pauses > 1 })
	if got := w.messages(t); got != 0 {
		t.Fatalf("%d messages were sent in transactions that failed", got)
	}
	w.fails.Store(false)
	until(t, func() bool {
		left, err := w.store.Count(ctx, outbox.Query{})
		parked, perr := w.store.Count(ctx, outbox.Query{State: outbox.Parked})
		return err == nil && perr == nil && left == 1 && parked == 1
	})
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := w.messages(t); got != n {
		t.Fatalf("%d messages, want %d", got, n)
	}
	refused, err := w.store.Find(ctx, "too large")
	if err != nil || refused.State != outbox.Parked || refused.Evidence.Class != "invalid" {
		t.Fatalf("the event that is too large: %+v, %v", refused.Evidence, err)
	}
}

// testSessionsEnd ends the relay's sessions at random moments: each event becomes
// one message all the same.
func testSessionsEnd(t *testing.T, w *world) {
	ctx := t.Context()
	const n = 60
	err := pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		for i := range n {
			if err := outbox.Write(ctx, outbox.Pgx(tx).In(w.schema), outbox.Event{Topic: "t", Key: fmt.Sprint(i % 5), Payload: fmt.Append(nil, i)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := outbox.New(outbox.Config{
		Store: w.store, Owner: "test", ParkAfter: 1, Events: 3, Pause: soon(), Retry: soon(),
		Sinks: []outbox.Route{{Name: "queue", Topics: []string{"t"}, Sink: w.sink(t)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	run, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- r.Run(run) }()
	cuts, before := 0, n
	until(t, func() bool {
		var left int
		if err := w.pool.QueryRow(ctx, `SELECT count(*) FROM `+w.schema+`.pending`).Scan(&left); err != nil {
			t.Fatal(err)
		}
		if left == before || cuts > 8 { // it goes on first
			return left == 0
		}
		before = left
		var killed int
		if err := w.pool.QueryRow(ctx, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1`, w.schema).Scan(&killed); err != nil {
			t.Fatal(err)
		}
		cuts += killed
		return false
	})
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := w.messages(t); got != n || cuts == 0 {
		t.Fatalf("%d messages of %d events, after %d sessions were ended", got, n, cuts)
	}
}

// testALostAnswer repeats a call that has succeeded: it sends nothing again.
func testALostAnswer(t *testing.T, w *world) {
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		return outbox.Write(ctx, outbox.Pgx(tx).In(w.schema), outbox.Event{Topic: "t", Payload: []byte("1")}, outbox.Event{Topic: "t", Payload: []byte("2")})
	}))
	lease, err := w.store.Acquire(ctx, "test", time.Hour)
	check(err)
	claim := &outbox.Claim{Topic: "t", Events: 1, Bytes: 1}
	f, err := w.store.Advance(ctx, lease.Epoch, nil, claim)
	check(err)
	sink := w.sink(t)
	var next *outbox.Flight
	for range 2 {
		next, err = w.store.AdvanceTx(ctx, lease.Epoch, f.ID, claim, func(ctx context.Context, tx any) (*outbox.Settlement, error) {
			records, err := w.store.Read(ctx, f.Refs)
			if err == nil {
				_, err = sink.SendTx(ctx, tx, records)
			}
			return &outbox.Settlement{Flight: f.ID, Delivered: []int64{f.Refs[0].Position}}, err
		})
		check(err)
	}
	if n := w.messages(t); n != 1 || next == nil || next.Refs[0].Position == f.Refs[0].Position {
		t.Fatalf("%d messages, then %+v", n, next)
	}
}

// testSendTx sends with the caller's transaction: a rollback leaves no message.
func testSendTx(t *testing.T, w *world) {
	ctx := t.Context()
	send := func(commit bool) {
		tx, err := w.pool.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		results, err := w.engine.SendTx(ctx, tx, "orders", []queue.SendInput{{Body: []byte("m")}})
		if err != nil || results[0].Err != nil {
			t.Fatal(err, results)
		}
		if commit {
			err = tx.Commit(ctx)
		} else {
			err = tx.Rollback(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	send(false)
	if n := w.messages(t); n != 0 {
		t.Fatalf("%d messages after a rollback", n)
	}
	send(true)
	got, err := w.engine.Receive(ctx, "orders", queue.ReceiveInput{Max: 10})
	if err != nil || len(got) != 1 || string(got[0].Body) != "m" {
		t.Fatalf("received %d, %v", len(got), err)
	}
	if _, err := w.engine.SendTx(ctx, "no transaction", "orders", []queue.SendInput{{Body: []byte("m")}}); !errors.Is(err, queue.ErrNoTx) {
		t.Fatalf("without a transaction: %v", err)
	}
	other, err := pgx.Connect(ctx, strings.Replace(os.Getenv("BEZOAR_TEST_POSTGRES"), "/bezoar?", "/postgres?", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(ctx)
	foreign, err := other.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if in, err := w.db.In(ctx, foreign); err != nil || in {
		t.Fatalf("a transaction of another database: %v, %v", in, err)
	}
}

func until(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("waited a minute")
		}
	}
}

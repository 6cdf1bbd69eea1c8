package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"

	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/postgres"
	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/tables"
	"github.com/bezoar-dev/bezoar/outbox"
)

// taker is a sink that keeps the IDs of what it was sent.
type taker struct {
	mu  sync.Mutex
	ids []string
}

func (s *taker) Send(_ context.Context, records []outbox.Record) []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		s.ids = append(s.ids, r.ID)
	}
	return make([]error, len(records))
}

func (s *taker) Close() error { return nil }

func (s *taker) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ids)
}

func relayTo(t *testing.T, c outbox.Config) (*taker, *outbox.Relay) {
	t.Helper()
	var s taker
	c.Owner, c.Sinks = "test", []outbox.Route{{Name: "taker", Topics: []string{"*"}, Sink: &s}}
	r, err := outbox.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &s, r
}

func (d *database) write(t testing.TB, ids ...string) {
	t.Helper()
	tx, err := d.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if err := tx.Write(t.Context(), outbox.Event{ID: id, Topic: "t", Key: "k"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited a minute: %s", what)
		}
	}
}

// with is the URL with one more parameter.
func with(t testing.TB, at, name, value string) string {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

func TestFaults(t *testing.T) {
	t.Parallel()
	d := newOutbox(t, connect(t, server(t)))
	for _, test := range []struct {
		name string
		run  func(t *testing.T, d *database)
	}{
		{"producers", testProducers},
		{"a producer's rights", testRights},
		{"a write transaction in another database", testElsewhere},
		{"sessions that the server ends", testTerminate},
		{"the listener's session ends", testListener},
		{"a pooler", testPooler},
		{"partitions dropped under load", testPartitions},
		{"no outbox", testAbsent},
		{"init again", testAgain},
		{"a dump that is restored", testDump},
	} {
		t.Run(test.name, func(t *testing.T) {
			d.empty(t)
			test.run(t, d)
		})
	}
}

// testProducers writes by every driver.
func testProducers(t *testing.T, d *database) {
	ctx := t.Context()
	for _, driver := range []string{"pgx", "postgres"} {
		db, err := sql.Open(driver, d.url)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		events := []outbox.Event{
			{Topic: "t", Key: "b", Payload: []byte{0, 1, 255}, Headers: map[string]string{"driver": driver}},
			{Topic: "t", Key: "a", ID: driver},
			{Topic: "t"},
		}
		if err := errors.Join(outbox.Write(ctx, outbox.SQL(tx).In(d.schema), events...), tx.Commit()); err != nil {
			t.Fatalf("%s: %v", driver, err)
		}
	}
	all, err := d.Store.Waiting(ctx, outbox.Query{Key: "b"})
	if err != nil || len(all) != 2 || string(all[0].Payload) != "\x00\x01\xff" || all[1].Headers["driver"] != "postgres" || all[1].Sequence != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	tx, err := d.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx)
	for _, call := range []string{
		`('no topic')`, `('')`, `(NULL)`, `('t', repeat('k', 513))`, `('t', headers => '[]')`, `('t', headers => '{"": "x"}')`,
		`('t', headers => (SELECT jsonb_object_agg(n, 'v') FROM generate_series(1, 65) n))`, `('t', headers => jsonb_build_object('h', repeat('v', 16384)))`, `('t', headers => '{"a": 1}')`,
		`('t', headers => '{"a": ["b"]}')`, `('t', id => repeat('i', 65))`, `('t', type => repeat('t', 256))`,
	} {
		err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `SELECT `+d.schema+`.write`+call)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "outbox:") {
			t.Errorf("write%s: %v", call, err)
		}
	}
}

// testRights writes as a role that may do nothing else.
func testRights(t *testing.T, d *database) {
	ctx := t.Context()
	role := d.schema + "_app"
	exec := func(sql string) {
		t.Helper()
		if _, err := d.pool.Exec(ctx, strings.NewReplacer("{s}", d.schema, "{r}", role).Replace(sql), pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	exec(`CREATE ROLE {r}; GRANT USAGE ON SCHEMA {s} TO {r}; GRANT EXECUTE ON FUNCTION {s}.write TO {r}`)
	defer exec(`DROP OWNED BY {r}; DROP ROLE {r}`)
	tx, err := d.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx)
	if _, err := tx.Exec(ctx, `SET LOCAL ROLE `+role); err != nil {
		t.Fatal(err)
	}
	if err := outbox.Write(ctx, outbox.Pgx(tx).In(d.schema), outbox.Event{Topic: "t", Key: "k"}); err != nil {
		t.Fatal(err)
	}
	for _, forbidden := range []string{`SELECT FROM {s}.events`, `DELETE FROM {s}.pending`, `UPDATE {s}.lease SET epoch = 9`, `SELECT {s}.discard('{1}')`} {
		err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, strings.ReplaceAll(forbidden, "{s}", d.schema))
			return err
		})
		if err == nil {
			t.Errorf("the producer's role may %s", forbidden)
		}
	}
}

// testElsewhere has a transaction in another database that has written and goes
// on: events are delivered all the same.
func testElsewhere(t *testing.T, d *database) {
	ctx := t.Context()
	other, err := pgx.Connect(ctx, strings.Replace(d.url, "/bezoar?", "/postgres?", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(ctx)
	tx, err := other.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, `CREATE TEMP TABLE long (n int); INSERT INTO long VALUES (1)`, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	// So has one in this database, which has written no event yet.
	here, err := d.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := here.Write(ctx, outbox.Event{ID: "late", Topic: "t", Key: "late"}); err != nil {
		t.Fatal(err)
	}
	s, _ := relayTo(t, outbox.Config{Store: d.Store})
	d.write(t, "1", "2")
	d.write(t, "3")
	eventually(t, "the others are delivered", func() bool { return len(s.got()) == 3 })
	d.unchanged(t, s)
	if err := here.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the late one is too", func() bool {
		return slices.Equal(s.got()[:3], []string{"1", "2", "3"}) && slices.Contains(s.got(), "late")
	})
}

// unchanged compares how long events take as the transactions begin and later; with
// BEZOAR_SOAK that is ten minutes.
func (d *database) unchanged(t *testing.T, s *taker) {
	t.Helper()
	lasts, percent := 2*time.Second, 10 // a busy machine delays most of the few events, but a held one delays all
	if os.Getenv("BEZOAR_SOAK") != "" {
		lasts, percent = 10*time.Minute, 99
	}
	latency := func(name string, lasts time.Duration) time.Duration {
		var took []time.Duration
		for began := time.Now(); time.Since(began) < lasts; {
			before, at := len(s.got()), time.Now()
			d.write(t, fmt.Sprint(name, len(took)))
			eventually(t, "it is delivered", func() bool { return len(s.got()) > before })
			took = append(took, time.Since(at))
			<-time.After(20 * time.Millisecond)
		}
		slices.Sort(took)
		t.Logf("%s: of %d events p50 %v, p99 %v", name, len(took), took[len(took)/2], took[len(took)*99/100])
		return took[len(took)*percent/100]
	}
	first := latency("at first", min(lasts, 10*time.Second))
	if later := latency("later", lasts); later > 3*first+100*time.Millisecond {
		t.Errorf("p%d was %v, and is %v", percent, first, later)
	}
}

// testTerminate ends the sessions of the relay, again and again, under load.
func testTerminate(t *testing.T, d *database) {
	ctx := t.Context()
	name := d.schema + "_relay"
	store, err := postgres.Open(ctx, postgres.Config{URL: with(t, d.url, "application_name", name), Schema: d.schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s, r := relayTo(t, outbox.Config{Store: store, Wake: true, ParkAfter: 1})
	var want []string
	for round := range 8 {
		for i := range 5 {
			want = append(want, fmt.Sprint(round, "-", i))
			d.write(t, want[len(want)-1])
		}
		if _, err := d.pool.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1`, name); err != nil {
			t.Fatal(err)
		}
	}
	var first []string
	eventually(t, "all is delivered", func() bool {
		first = nil
		for _, id := range s.got() {
			if !slices.Contains(first, id) {
				first = append(first, id)
			}
		}
		return len(first) == len(want)
	})
	if !slices.Equal(first, want) {
		t.Fatalf("delivered %v, written %v", first, want)
	}
	eventually(t, "it listens again", func() bool {
		return !slices.ContainsFunc(r.Stats().Alarms, func(a outbox.Alarm) bool { return a.Kind == "wake" || a.Kind == "database" })
	})
}

// testListener ends the session that listens, again and again: events come as soon as the
// relay polls.
func testListener(t *testing.T, d *database) {
	s, _ := relayTo(t, outbox.Config{Store: d.Store, Wake: true})
	d.prompt(t, s, "with ", 10)
	ended := 0
	for round := range 5 {
		var n int
		if err := d.pool.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query = 'LISTEN ' || $1`, d.schema).Scan(&n); err != nil {
			t.Fatal(err)
		}
		ended += n
		d.prompt(t, s, fmt.Sprint("without ", round, " "), 10)
	}
	if ended == 0 {
		t.Error("there was no session to end")
	}
}

// testPooler relays through a pooler that shares sessions between transactions.
// What cannot work there says so.
func testPooler(t *testing.T, d *database) {
	at := os.Getenv("BEZOAR_TEST_PGBOUNCER")
	if at == "" {
		t.Skip("no PgBouncer: run make test, or export BEZOAR_TEST_PGBOUNCER=$(scripts/postgres pgbouncer)")
	}
	store, err := postgres.Open(t.Context(), postgres.Config{URL: at, Schema: d.schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s, r := relayTo(t, outbox.Config{Store: store, Wake: true})
	d.write(t, "1", "2")
	eventually(t, "both are delivered", func() bool { return len(s.got()) == 2 })
	eventually(t, "the alarm names the pooler", func() bool {
		return slices.ContainsFunc(r.Stats().Alarms, func(a outbox.Alarm) bool { return a.Kind == "wake" && strings.Contains(a.What, "pooler") })
	})
}

// testPartitions has partitions dropped while producers write and a relay works.
func testPartitions(t *testing.T, d *database) {
	ctx := t.Context()
	epoch, err := d.Store.Acquire(ctx, "setup", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	d.write(t, "parked", "behind")
	f, err := d.Store.Advance(ctx, epoch.Epoch, nil, &outbox.Claim{Topic: "t", Events: 1, Bytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Store.Advance(ctx, epoch.Epoch, &outbox.Settlement{Flight: f.ID, Failed: []outbox.Setback{{Position: f.Refs[0].Position, Parked: true}}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := d.Store.Release(ctx, epoch.Epoch); err != nil {
		t.Fatal(err)
	}
	d.age(t, 72*time.Hour)
	var before int
	if err := d.pool.QueryRow(ctx, `SELECT count(*) FROM `+d.schema+`.partitions`).Scan(&before); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	var over atomic.Bool
	var n atomic.Int64
	for i := range 3 {
		writers.Go(func() {
			for !over.Load() {
				tx, err := d.Begin(ctx)
				if err == nil {
					err = tx.Write(ctx, outbox.Event{Topic: "t", Key: fmt.Sprint(i)})
				}
				if err == nil {
					err = tx.Commit(ctx)
				}
				if err != nil {
					t.Error(err)
					return
				}
				n.Add(1)
			}
		})
	}
	s, _ := relayTo(t, outbox.Config{Store: d.Store, Keep: time.Hour})
	eventually(t, "all old partitions are gone", func() bool {
		var old int
		err := d.pool.QueryRow(ctx, `SELECT count(*) FROM `+d.schema+`.partitions WHERE after < now() - interval '1 hour'`).Scan(&old)
		return err == nil && old == 0 && before > 0
	})
	over.Store(true)
	writers.Wait()
	eventually(t, "all new events are delivered", func() bool { return int64(len(s.got())) == n.Load() })
	eventually(t, "they are settled", func() bool {
		left, err := d.Store.Count(ctx, outbox.Query{})
		return err == nil && left == 2
	})
	left, err := d.Store.Waiting(ctx, outbox.Query{})
	if err != nil || len(left) != 2 || left[0].ID != "parked" || left[1].ID != "behind" {
		t.Fatalf("left: %+v, %v", left, err)
	}
	if _, err := d.Store.Skip(ctx, []int64{left[0].Position}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "what was behind is delivered", func() bool { return slices.Contains(s.got(), "behind") })
}

func testAbsent(t *testing.T, d *database) {
	_, err := postgres.Open(t.Context(), postgres.Config{URL: d.url, Schema: "no_such_outbox"})
	if !errors.Is(err, outbox.ErrAbsent) || !strings.Contains(err.Error(), "bezoar outbox init") {
		t.Fatal(err)
	}
}

// testAgain makes an outbox that is there: nothing is lost. One of a later version
// is left alone.
func testAgain(t *testing.T, d *database) {
	ctx := t.Context()
	d.write(t, "1")
	before, err := d.Store.Identity(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := postgres.Init(ctx, postgres.Config{URL: d.url, Schema: d.schema}); err != nil {
		t.Fatal(err)
	}
	after, err := d.Store.Identity(ctx)
	if n, cerr := d.Store.Count(ctx, outbox.Query{}); err != nil || cerr != nil || n != 1 || after != before {
		t.Fatalf("%d events, %v, before %v: %v %v", n, after, before, err, cerr)
	}
	set := func(version int) {
		if _, err := d.pool.Exec(ctx, `UPDATE `+d.schema+`.meta SET version = $1`, version); err != nil {
			t.Fatal(err)
		}
	}
	set(tables.Version + 1)
	defer set(tables.Version)
	if err := postgres.Init(ctx, postgres.Config{URL: d.url, Schema: d.schema}); err == nil || !strings.Contains(err.Error(), "later version") {
		t.Fatal(err)
	}
	if _, err := postgres.Open(ctx, postgres.Config{URL: d.url, Schema: d.schema}); err == nil || !strings.Contains(err.Error(), "version") {
		t.Fatal(err)
	}
}

// testDump restores a dump, as another schema, and relays there.
func testDump(t *testing.T, d *database) {
	dump := tool("pg_dump")
	if dump == "" {
		t.Skip("there is no pg_dump here")
	}
	ctx := t.Context()
	d.write(t, "1", "2")
	out, err := exec.CommandContext(ctx, dump, "--schema", d.schema, "--no-owner", d.url).Output()
	if err != nil {
		t.Fatal(err)
	}
	restored := &database{url: d.url, schema: d.schema + "_r", pool: d.pool}
	defer d.pool.Exec(context.Background(), `DROP SCHEMA `+restored.schema+` CASCADE`)
	psql := exec.CommandContext(ctx, tool("psql"), "-q", "-v", "ON_ERROR_STOP=1", d.url)
	psql.Stdin = strings.NewReader(strings.ReplaceAll(string(out), d.schema, restored.schema))
	if text, err := psql.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	restored.Begin = restored.begin
	s, _ := relayTo(t, outbox.Config{Store: restored.open(t)})
	restored.write(t, "3")
	eventually(t, "all is delivered in order", func() bool { return slices.Equal(s.got(), []string{"1", "2", "3"}) })
}

// tool is a program of PostgreSQL.
func tool(name string) string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) > 0 {
		return found[len(found)-1]
	}
	at, _ := exec.LookPath(name)
	return at
}

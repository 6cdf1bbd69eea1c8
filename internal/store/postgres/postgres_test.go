package postgres_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger/ledgertest"
	"github.com/bezoar-dev/bezoar/internal/store/postgres"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// TestMain also is the other processes of these tests, when told so.
func TestMain(m *testing.M) {
	if os.Getenv("POSTGRES_TEST_ROLE") != "" {
		err := playRole(os.Getenv("POSTGRES_TEST_URL"), os.Getenv("POSTGRES_TEST_SCHEMA"))
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := pace.AtOnce(pace.Rounds(4, 2)); err != nil { // they mostly wait
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// server returns the URL of a server to test with.
func server(t testing.TB) string {
	t.Helper()
	at := os.Getenv("BEZOAR_TEST_POSTGRES")
	if at == "" {
		t.Skip("no PostgreSQL: run make test, or export BEZOAR_TEST_POSTGRES=$(scripts/postgres start)")
	}
	return at
}

// newSchema names a schema of this test's own and drops it afterwards.
func newSchema(t testing.TB) string {
	t.Helper()
	var random [8]byte
	rand.Read(random[:])
	schema := "test_" + hex.EncodeToString(random[:])
	t.Cleanup(func() { run(t, "DROP SCHEMA IF EXISTS "+schema+" CASCADE") })
	return schema
}

// run sends statements straight to the server.
func run(t testing.TB, statements string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), server(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), statements); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, c postgres.Config) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// runSuite holds the store at the URL to the ledger's contract, for so many random games.
func runSuite(t *testing.T, at string, games int) {
	var mu sync.Mutex
	opened := map[ledger.Store]*postgres.DB{}
	configs := map[ledger.Store]postgres.Config{}
	openAt := func(t *testing.T, c postgres.Config) ledger.Store {
		db := open(t, c)
		mu.Lock()
		defer mu.Unlock()
		opened[db.Ledger()], configs[db.Ledger()] = db, c
		return db.Ledger()
	}
	ledgertest.Run(t, ledgertest.Harness{
		Games: games,
		Open: func(t *testing.T, maxLetters int) ledger.Store {
			return openAt(t, postgres.Config{URL: at, Schema: newSchema(t), MaxLetters: maxLetters})
		},
		Reopen: func(t *testing.T, s ledger.Store) ledger.Store {
			mu.Lock()
			db, c := opened[s], configs[s]
			mu.Unlock()
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			return openAt(t, c)
		},
	})
}

func TestLedger(t *testing.T) {
	t.Parallel()
	runSuite(t, server(t), 15)
}

func TestLedgerBehindPgBouncer(t *testing.T) {
	t.Parallel()
	pace.Alone(t) // what runs at once is the same without it
	server(t)
	at := os.Getenv("BEZOAR_TEST_PGBOUNCER")
	if at == "" {
		t.Skip("no PgBouncer: run make test, or export BEZOAR_TEST_PGBOUNCER=$(scripts/postgres pgbouncer)")
	}
	runSuite(t, at, 5) // statements differ there, rules do not
}

func with(t testing.TB, at, parameter, value string) string {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(parameter, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// Every way of pgx to run a statement encodes values in its own way.
func TestExecModes(t *testing.T) {
	at := server(t)
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			db := open(t, postgres.Config{URL: with(t, at, "default_query_exec_mode", mode), Schema: newSchema(t)})
			s := db.Ledger()
			v := bezoar.Verdict{ID: "q-1", Fleet: "it's", Reason: `\'"$1` + "\xff", Score: 1.25, Since: time.UnixMicro(-7).UTC()}
			l := bezoar.Letter{ID: "dl-1", Fingerprint: bezoar.Fingerprint{0xff}, Copies: 1, Last: time.UnixMicro(7).UTC()}
			l.Request.Body = []byte("\x00\xff'\\")
			for range 2 { // the second may use what the first cached
				if err := s.PutVerdict(t.Context(), v); err != nil {
					t.Fatal(err)
				}
				if _, err := s.PutLetter(t.Context(), l); err != nil {
					t.Fatal(err)
				}
				verdicts, err := s.Verdicts(t.Context(), v.Fleet)
				if err != nil || len(verdicts) != 1 || verdicts[0].Reason != v.Reason || !verdicts[0].Since.Equal(v.Since) {
					t.Fatalf("Verdicts = %+v, %v", verdicts, err)
				}
				letters, err := s.Letters(t.Context(), ledger.LetterQuery{Fingerprint: l.Fingerprint})
				if err != nil || len(letters) != 1 {
					t.Fatalf("Letters = %+v, %v", letters, err)
				}
				got, err := s.Letter(t.Context(), l.ID)
				if err != nil || string(got.Request.Body) != string(l.Request.Body) || !got.Last.Equal(l.Last) {
					t.Fatalf("Letter = %+v, %v", got, err)
				}
			}
		})
	}
}

// A node that does not know variants yet goes on writing its letters, and those of
// before are found, grow by copies of the fingerprint, and do not take in those of a
// variant.
func TestOldLettersHaveNoVariant(t *testing.T) {
	t.Parallel()
	at, schema := server(t), newSchema(t)
	s := open(t, postgres.Config{URL: at, Schema: schema}).Ledger()
	old := `INSERT INTO ` + schema + `.letters AS l (id, fleet, fingerprint, last, copies, kept, found, body) VALUES ('dl-old', 'shop',
		'\x01000000000000000000000000000000', 5, 7,
		'{"id":"dl-old","fingerprint":"01000000000000000000000000000000","shape":"","fleet":"shop","first":"1970-01-01T00:00:00.000005Z","request":{"method":"GET","target":"/x","host":"","body_size":0}}',
		'{"verdict":"q-00000000000a","class":"crash","reason":"r","last":"1970-01-01T00:00:00.000005Z"}', '')
		ON CONFLICT (fleet, fingerprint) DO UPDATE SET last = excluded.last, copies = l.copies + excluded.copies, found = excluded.found`
	run(t, old)
	fp := bezoar.Fingerprint{0: 1}
	for _, q := range []ledger.LetterQuery{{Fingerprint: fp}, {Key: fp}} {
		if ls, err := s.Letters(t.Context(), q); err != nil || len(ls) != 1 || ls[0].ID != "dl-old" || ls[0].Copies != 7 || !ls[0].Variant.IsZero() {
			t.Fatalf("%+v finds %+v, %v", q, ls, err)
		}
	}
	copied, err := s.PutLetter(t.Context(), bezoar.Letter{ID: "dl-copy", Fleet: "shop", Fingerprint: fp, Copies: 1})
	if err != nil || copied.ID != "dl-old" || copied.Copies != 8 {
		t.Errorf("a copy is %+v, %v", copied, err)
	}
	variant, err := s.PutLetter(t.Context(), bezoar.Letter{ID: "dl-variant", Fleet: "shop", Fingerprint: fp, Variant: bezoar.Fingerprint{0: 2}, Copies: 1})
	if err != nil || variant.ID != "dl-variant" || variant.Copies != 1 {
		t.Errorf("a variant is %+v, %v", variant, err)
	}
	run(t, old)
	ls, err := s.Letters(t.Context(), ledger.LetterQuery{Fingerprint: fp})
	if err != nil || len(ls) != 2 {
		t.Fatalf("of the fingerprint there are %+v, %v", ls, err)
	}
	if got, err := s.Letter(t.Context(), "dl-old"); err != nil || got.Copies != 15 {
		t.Errorf("another copy of an old node makes it %+v, %v", got, err)
	}
}

// Many processes that start at once make the schema once, behind a pooler too.
func TestManyOpenAtOnce(t *testing.T) {
	for name, variable := range map[string]string{"direct": "BEZOAR_TEST_POSTGRES", "pgbouncer": "BEZOAR_TEST_PGBOUNCER"} {
		at := os.Getenv(variable)
		if at == "" {
			server(t) // says why
			continue  // TestLedgerBehindPgBouncer has said why
		}
		t.Run(name, func(t *testing.T) {
			c := postgres.Config{URL: with(t, at, "pool_max_conns", "2"), Schema: newSchema(t)}
			var wg sync.WaitGroup
			errs := make([]error, 24) // more than the pooler has connections
			for i := range errs {
				wg.Go(func() {
					db, err := postgres.Open(t.Context(), c)
					if err == nil {
						err = errors.Join(db.Ledger().PutVerdict(t.Context(), bezoar.Verdict{ID: fmt.Sprint("q-", i)}), db.Close())
					}
					errs[i] = err
				})
			}
			wg.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			verdicts, err := open(t, c).Ledger().Verdicts(t.Context(), "")
			if err != nil || len(verdicts) != len(errs) {
				t.Errorf("%d verdicts are left of %d, %v", len(verdicts), len(errs), err)
			}
		})
	}
}

// Two processes share one schema: each sees what the other was told.
func TestTwoProcessesShare(t *testing.T) {
	c := postgres.Config{URL: server(t), Schema: newSchema(t), MaxLetters: 3}
	a, b := open(t, c).Ledger(), open(t, c).Ledger()
	for i := range byte(6) {
		s := []ledger.Store{a, b}[i%2]
		l := bezoar.Letter{ID: fmt.Sprint("dl-", i), Fingerprint: bezoar.Fingerprint{i/2 + 1}, Last: time.UnixMicro(int64(i)), Copies: 1}
		if _, err := s.PutLetter(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []ledger.Store{a, b} {
		letters, err := s.Letters(t.Context(), ledger.LetterQuery{})
		if err != nil || len(letters) != 3 || letters[0].ID != "dl-4" || letters[0].Copies != 2 {
			t.Errorf("Letters = %+v, %v", letters, err)
		}
	}
}

// Connections that the server cut are replaced; at worst, those in the pool
// fail once each.
func TestCutConnections(t *testing.T) {
	name := newSchema(t)
	db := open(t, postgres.Config{URL: with(t, server(t), "application_name", name), Schema: name})
	put := func() error { return db.Ledger().PutVerdict(t.Context(), bezoar.Verdict{ID: "q-1"}) }
	if err := put(); err != nil {
		t.Fatal(err)
	}
	run(t, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = '"+name+"'")
	for range 64 { // more than any pool here has
		if put() == nil {
			return
		}
	}
	t.Errorf("the store does not recover: %v", put())
}

func TestOpenExplains(t *testing.T) {
	at, err := url.Parse(server(t))
	if err != nil {
		t.Fatal(err)
	}
	secret, _ := at.User.Password()
	schema := newSchema(t)
	fails := func(name string, change func(*url.URL, *postgres.Config), say ...string) {
		t.Run(name, func(t *testing.T) {
			u, c := *at, postgres.Config{Schema: schema}
			change(&u, &c)
			c.URL = u.String()
			db, err := postgres.Open(t.Context(), c)
			if err == nil {
				t.Fatalf("Open succeeded; close: %v", db.Close())
			}
			for _, s := range say {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not mention %q", err, s)
				}
			}
			if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "wrong-secret") {
				t.Errorf("%q shows the password", err)
			}
		})
	}
	fails("wrong password", func(u *url.URL, _ *postgres.Config) { u.User = url.UserPassword("bezoar", "wrong-secret") },
		"does not let this user in", at.Host)
	fails("no database", func(u *url.URL, _ *postgres.Config) { u.Path = "/nowhere" }, "/nowhere does not exist", "create")
	fails("nobody listens", func(u *url.URL, _ *postgres.Config) { u.Host = "127.0.0.1:1" }, "cannot be reached", "start it")

	c := postgres.Config{URL: at.String(), Schema: schema}
	open(t, c)
	run(t, "INSERT INTO "+schema+".goose_db_version (version_id, is_applied) VALUES (4711, true)")
	fails("a newer schema", func(*url.URL, *postgres.Config) {}, schema, "version 4711", "run the newer bezoar")
}

// A role without the right to make schemas is told what to ask for, and works
// in one that was made for it.
func TestRoleWithoutRights(t *testing.T) {
	at, err := url.Parse(server(t))
	if err != nil {
		t.Fatal(err)
	}
	schema := newSchema(t)
	role := "role_" + schema
	run(t, fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD 'x'", role))
	t.Cleanup(func() { run(t, fmt.Sprintf("DROP OWNED BY %s; DROP ROLE %s", role, role)) })
	at.User = url.UserPassword(role, "x")
	c := postgres.Config{URL: at.String(), Schema: schema}
	if _, err := postgres.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "grant the role CREATE") {
		t.Errorf("Open = %v, want what to grant", err)
	}
	run(t, fmt.Sprintf("CREATE SCHEMA %s AUTHORIZATION %s", schema, role))
	if err := open(t, c).Ledger().PutVerdict(t.Context(), bezoar.Verdict{ID: "q-1"}); err != nil {
		t.Error(err)
	}
}

func inSchema(schema, statement string) string {
	return strings.ReplaceAll(statement, "{schema}", schema)
}

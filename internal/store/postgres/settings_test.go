package postgres_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/control/live/livetest"
	"github.com/bezoar-dev/bezoar/internal/store/postgres"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// runLive holds the store at the URL to the contract of live settings, with so many
// random games.
func runLive(t *testing.T, at string, games uint64) {
	var mu sync.Mutex // guards opened and configs
	opened := map[live.Store]*postgres.DB{}
	configs := map[live.Store]postgres.Config{}
	openAt := func(t *testing.T, c postgres.Config) live.Store {
		db := open(t, c)
		mu.Lock()
		defer mu.Unlock()
		opened[db.Live()], configs[db.Live()] = db, c
		return db.Live()
	}
	find := func(s live.Store) (*postgres.DB, postgres.Config) {
		mu.Lock()
		defer mu.Unlock()
		return opened[s], configs[s]
	}
	livetest.Run(t, livetest.Harness{
		Games: games,
		Open:  func(t *testing.T) live.Store { return openAt(t, postgres.Config{URL: at, Schema: newSchema(t)}) },
		Reopen: func(t *testing.T, s live.Store) live.Store {
			db, c := find(s)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			return openAt(t, c)
		},
		Beside: func(t *testing.T, s live.Store) live.Store {
			_, c := find(s)
			return openAt(t, c)
		},
		Copy: func(t *testing.T, s live.Store, n int) {
			_, c := find(s)
			run(t, fmt.Sprintf(`INSERT INTO %[1]s.settings_overrides (id, route, caller, plan, what, factor, value, since, until, who, reason, class, predictor, target)
				SELECT 'ov-' || lpad(i::text, 4, '0'), route, i::text, plan, what, factor, value, since, until, who, reason, class, predictor, target
				FROM %[1]s.settings_overrides, generate_series(2, %[2]d - 1) i WHERE id = 'ov-0001'`, c.Schema, n))
		},
		Age: func(t *testing.T, s live.Store, d time.Duration) {
			_, c := find(s)
			run(t, fmt.Sprintf(`UPDATE %[1]s.settings_overrides SET since = since - %[2]d, until = until - %[2]d;
				UPDATE %[1]s.settings_nodes SET seen = seen - %[2]d, until = until - %[2]d`, c.Schema, d.Microseconds()))
		},
	})
}

func TestLive(t *testing.T) {
	t.Parallel()
	runLive(t, server(t), 3)
}

func TestLiveBehindPgBouncer(t *testing.T) {
	pace.Alone(t) // what runs at once is the same without it
	t.Parallel()
	server(t)
	at := os.Getenv("BEZOAR_TEST_PGBOUNCER")
	if at == "" {
		t.Skip("no PgBouncer: run make test, or export BEZOAR_TEST_PGBOUNCER=$(scripts/postgres pgbouncer)")
	}
	runLive(t, at, 1) // statements differ there, rules do not
}

// playSettings puts versions and says which are acknowledged, until killed.
func playSettings(ctx context.Context, s live.Store) error {
	base := int64(0)
	if newest, err := s.Version(ctx, 0); err == nil {
		base = newest.Number
	}
	for {
		text := []byte(strings.Repeat(fmt.Sprintf("n: %d\n", base+1), 2000))
		v, err := s.PutVersion(ctx, base, live.Version{By: "x", Source: live.FromAPI, Sum: live.Sum(text), Text: text})
		if err != nil {
			return err
		}
		fmt.Printf("%d %s\n", v.Number, v.Sum)
		base = v.Number
	}
}

// However often a process is killed in the middle of a put: what was
// acknowledged is there, whole, no number is missing, and nothing is held.
func TestVersionsSurviveKill(t *testing.T) {
	t.Parallel()
	schema := newSchema(t)
	at := with(t, server(t), "application_name", schema)
	s := open(t, postgres.Config{URL: at, Schema: schema}).Live()
	sums := map[int64]string{}
	newest := int64(0)
	for range 4 {
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), "POSTGRES_TEST_ROLE=settings", "POSTGRES_TEST_URL="+at, "POSTGRES_TEST_SCHEMA="+schema)
		child.Stderr = os.Stderr
		said, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(said)
		for range 15 {
			if !lines.Scan() {
				t.Fatalf("the writer stopped by itself: %v", lines.Err())
			}
			var sum string
			if _, err := fmt.Sscan(lines.Text(), &newest, &sum); err != nil {
				t.Fatal(err)
			}
			sums[newest] = sum
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // it was killed
		quiet(t, schema) // what the server was still told is over, so that the next one is not in conflict
	}
	found, err := s.Versions(t.Context(), live.KeepVersions)
	if err != nil || len(found) == 0 || found[0].Number < newest {
		t.Fatalf("%d was acknowledged; there are %+v, %v", newest, found, err)
	}
	for i, listed := range found {
		v, err := s.Version(t.Context(), listed.Number)
		if err != nil || v.Sum != live.Sum(v.Text) || v.Number != found[0].Number-int64(i) {
			t.Errorf("version %d at place %d: sum %s of %d bytes, %v", v.Number, i, v.Sum, len(v.Text), err)
		}
		if sum, ok := sums[v.Number]; ok && sum != v.Sum {
			t.Errorf("version %d was acknowledged with another text", v.Number)
		}
	}
	if r, err := s.Revision(t.Context()); err != nil || r != found[0].Number {
		t.Errorf("the revision is %d after %d versions, %v", r, found[0].Number, err)
	}
}

// What each node asks ten times a second.
func BenchmarkRevision(b *testing.B) {
	db := open(b, postgres.Config{URL: server(b), Schema: newSchema(b)})
	for b.Loop() {
		if _, err := db.Live().Revision(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// cluster is nodes with a pool each over one schema; applied hears what the
// last of them runs.
func cluster(tb testing.TB, n int) (nodes []*live.Live, applied chan int64) {
	tb.Helper()
	schema := newSchema(tb)
	applied = make(chan int64, 1000)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for i := range n {
		l, err := live.New(live.Config{
			Node: fmt.Sprint("n", i), Store: open(tb, postgres.Config{URL: server(tb), Schema: schema}).Live(),
			Apply: func(_ context.Context, v live.Version, _ []live.Override) error {
				if i == n-1 {
					applied <- v.Number
				}
				return nil
			},
		})
		if err != nil {
			tb.Fatal(err)
		}
		nodes = append(nodes, l)
		running.Go(func() {
			if err := l.Run(ctx); err != nil {
				tb.Error(err)
			}
		})
	}
	tb.Cleanup(func() { cancel(); running.Wait() })
	return nodes, applied
}

func TestLiveNodesFollowEachOther(t *testing.T) {
	t.Parallel()
	nodes, applied := cluster(t, 3)
	for i := range int64(5) {
		if _, err := nodes[i%2].Put(t.Context(), []byte(fmt.Sprint("n: ", i)), "ann", ""); err != nil {
			t.Fatal(err)
		}
		for n := range applied {
			if n == i+1 {
				break
			}
		}
	}
	poll(t, "each lists all nodes with what they run", func() bool {
		for _, l := range nodes {
			there := l.Status().Nodes
			if len(there) != 3 || there[0].Running != 5 || there[1].Running != 5 || there[2].Running != 5 {
				return false
			}
		}
		return true
	})
}

// How long it takes from a put on one node until another one runs it.
func BenchmarkLiveReachesOthers(b *testing.B) {
	nodes, applied := cluster(b, 3)
	number := int64(0)
	for b.Loop() {
		v, err := nodes[0].Put(b.Context(), []byte(fmt.Sprint("n: ", number)), "ann", "")
		if err != nil {
			b.Fatal(err)
		}
		for number = range applied {
			if number == v.Number {
				break
			}
		}
	}
}

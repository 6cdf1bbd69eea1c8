package postgres_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/test/pgtest"
	"github.com/bezoar-dev/bezoar/outbox"
)

// faketime is the library that has a program see another time, "" if it is not here.
func faketime(t *testing.T) string {
	t.Helper()
	find := func() string {
		found, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
		if err != nil || len(found) == 0 {
			return ""
		}
		return found[0]
	}
	if at := find(); at != "" || os.Geteuid() != 0 {
		return at
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `install() { apt-get -o DPkg::Lock::Timeout=120 install -y -qq --no-install-recommends libfaketime; }
		install || { apt-get update -qq && install; }`)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("install libfaketime: %v\n%s", err, out)
	}
	return find()
}

// TestClocks has the database's clock an hour off the relay's, and jump while a relay
// works and after it died: events leave in order and at once, and a relay that is alone
// sends each of them once.
func TestClocks(t *testing.T) {
	t.Parallel()
	if os.Getenv("BEZOAR_TEST_POSTGRES") == "" {
		t.Skip("BEZOAR_TEST_POSTGRES names no database; scripts/with-servers starts one")
	}
	library := faketime(t)
	if library == "" {
		const absent = "NOT RUN: no libfaketime (apt-get install libfaketime)"
		if os.Getenv("BEZOAR_REQUIRE_SERVERS") != "" {
			t.Fatal(absent)
		}
		t.Skip(absent)
	}
	clock := filepath.Join(t.TempDir(), "clock")
	set := func(offset string) {
		t.Helper()
		next := clock + ".next"
		if err := os.WriteFile(next, []byte(offset+"\n"), 0o644); err != nil { //nolint:gosec // the server is another user's
			t.Fatal(err)
		}
		if err := os.Rename(next, clock); err != nil {
			t.Fatal(err)
		}
	}
	for dir := filepath.Dir(clock); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the server is another user's
			t.Fatal(err)
		}
	}
	set("+0")
	server := pgtest.Start(t)
	t.Cleanup(server.Remove)
	server.Stop(t, "fast")
	server.Env = []string{"LD_PRELOAD=" + library, "FAKETIME_TIMESTAMP_FILE=" + clock, "FAKETIME_NO_CACHE=1", "DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"}
	server.Boot(t)
	d := newOutbox(t, connect(t, server.URL("postgres")))
	for _, offset := range []string{"+1h", "-1h"} {
		t.Run("off by "+offset, func(t *testing.T) {
			d.empty(t)
			set(offset)
			d.offBy(t, offset)
			s, _ := relayTo(t, outbox.Config{Store: d.Store, Lease: 3 * time.Second})
			d.prompt(t, s, "a", 50)
		})
		t.Run("jumps by "+offset, func(t *testing.T) {
			d.empty(t)
			set("+0")
			d.offBy(t, "+0")
			s, r := relayTo(t, outbox.Config{Store: d.Store, Lease: 3 * time.Second})
			d.prompt(t, s, "before", 50)
			set(offset)
			d.offBy(t, offset)
			d.prompt(t, s, "after", 50)
			set("+0")
			d.prompt(t, s, "again", 50)
			if st := r.Stats(); st.Epoch != 1 || len(st.Alarms) > 0 {
				t.Errorf("it has the epoch %d, and the alarms %v", st.Epoch, st.Alarms)
			}
		})
		t.Run("jumps by "+offset+", and the relay dies", func(t *testing.T) {
			d.empty(t)
			set("+0")
			d.offBy(t, "+0")
			if _, err := d.Store.Acquire(t.Context(), "it dies", 3*time.Second); err != nil {
				t.Fatal(err)
			}
			set(offset)
			d.offBy(t, offset)
			s, _ := relayTo(t, outbox.Config{Store: d.Store, Lease: 3 * time.Second})
			d.write(t, "next")
			began := time.Now()
			eventually(t, "it is delivered", func() bool { return len(s.got()) == 1 })
			if took := time.Since(began); took > 12*time.Second {
				t.Errorf("the next relay took %v to take over", took)
			}
		})
	}
	t.Run("two relays, and jumps to and fro", func(t *testing.T) { d.toAndFro(t, set) })
}

// offBy waits until the database sees the time.
func (d *database) offBy(t *testing.T, offset string) {
	t.Helper()
	by, err := time.ParseDuration(offset) // +0 is one
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the database's clock is off by "+offset, func() bool {
		var now time.Time
		err := d.pool.QueryRow(t.Context(), `SELECT clock_timestamp()`).Scan(&now)
		return err == nil && (time.Until(now)-by).Abs() < 5*time.Second
	})
}

// prompt writes events one after another, each when the one before it has left, and wants
// each delivered once, in order, and soon.
func (d *database) prompt(t *testing.T, s *taker, name string, n int) {
	t.Helper()
	before := len(s.got())
	var worst time.Duration
	var want []string
	for i := range n {
		want = append(want, fmt.Sprint(name, i))
		began := time.Now()
		d.write(t, want[i])
		eventually(t, want[i]+" is delivered", func() bool { return len(s.got()) > before+i })
		worst = max(worst, time.Since(began))
	}
	if got := s.got()[before:]; !slices.Equal(got, want) {
		t.Errorf("delivered %v, want %v", got, want)
	}
	t.Logf("%s: the slowest of %d took %v", name, n, worst.Round(time.Millisecond))
	if worst > 5*time.Second {
		t.Errorf("%s: the slowest took %v", name, worst)
	}
}

// toAndFro has two relays whose lease jumps of the clock end: events come again then, and
// none is lost or out of order.
func (d *database) toAndFro(t *testing.T, set func(offset string)) {
	d.empty(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mu sync.Mutex
	var got []string
	sink := sinkFunc(func(records []outbox.Record) {
		mu.Lock()
		defer mu.Unlock()
		for _, r := range records {
			got = append(got, r.ID)
		}
	})
	var relays sync.WaitGroup
	defer relays.Wait()
	defer stop()
	for i := range 2 {
		r, err := outbox.New(outbox.Config{
			Store: d.open(t), Owner: fmt.Sprint("relay ", i), Lease: 2 * time.Second,
			Sinks: []outbox.Route{{Name: "taker", Topics: []string{"*"}, Sink: sink}},
		})
		if err != nil {
			t.Fatal(err)
		}
		relays.Go(func() { _ = r.Run(ctx) })
	}
	var want []string
	for i, offset := range []string{"+0", "+1h", "+0", "-1h", "+1h", "-1h", "+0"} {
		set(offset)
		for began := time.Now(); time.Since(began) < time.Second; {
			id := fmt.Sprint(i, "-", len(want))
			d.write(t, id)
			want = append(want, id)
		}
	}
	eventually(t, "all are delivered", func() bool {
		var n int
		err := d.pool.QueryRow(ctx, `SELECT count(*) FROM `+pgx.Identifier{d.schema, "pending"}.Sanitize()).Scan(&n)
		return err == nil && n == 0
	})
	mu.Lock()
	defer mu.Unlock()
	seen := map[string]bool{}
	first := slices.DeleteFunc(slices.Clone(got), func(id string) bool {
		again := seen[id]
		seen[id] = true
		return again
	})
	if !slices.Equal(first, want) {
		t.Errorf("%d events were delivered first, want the %d that were written, in order", len(first), len(want))
	}
	t.Logf("%d events, %d deliveries", len(want), len(got))
}

// sinkFunc is a sink that takes everything.
type sinkFunc func(records []outbox.Record)

func (f sinkFunc) Send(_ context.Context, records []outbox.Record) []error {
	f(records)
	return make([]error, len(records))
}

func (sinkFunc) Close() error { return nil }

package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/outbox"
)

// TestRestart stops the server and starts it again while an application writes and
// a relay works. It has a server of its own, and runs with BEZOAR_SOAK.
func TestRestart(t *testing.T) {
	if os.Getenv("BEZOAR_SOAK") == "" {
		t.Skip("a server of its own takes long: set BEZOAR_SOAK")
	}
	home, err := os.MkdirTemp("", "outbox-restart-") //nolint:usetesting // the folder of the test is closed to the user of the server
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(home, 0o755); err != nil { //nolint:gosec // the server is another user's
		t.Fatal(err)
	}
	script, err := filepath.Abs("../../../../scripts/postgres")
	if err != nil {
		t.Fatal(err)
	}
	server := func(command string) string {
		t.Helper()
		cmd := exec.Command(script, command)
		cmd.Env = append(os.Environ(), "BEZOAR_POSTGRES_HOME="+home)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		return strings.TrimSpace(string(out))
	}
	t.Cleanup(func() { server("destroy") })
	at := server("start")
	// It gets another port each time: the relay and the application come by a proxy.
	host := func(at string) string {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		return u.Host
	}
	proxy := newProxy(t, host(at))
	stable := strings.Replace(at, host(at), proxy.addr(), 1)
	d := newOutbox(t, connect(t, stable))
	s, _ := relayTo(t, outbox.Config{Store: d.Store, ParkAfter: 1, Lease: 5 * time.Second})

	ctx, stop := context.WithCancel(t.Context())
	var committed []string
	var app sync.WaitGroup
	app.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			id := fmt.Sprint(i)
			if tried(t.Context(), d, id) {
				committed = append(committed, id)
			}
		}
	})
	for range 3 {
		before := len(s.got())
		eventually(t, "events are delivered", func() bool { return len(s.got()) > before+50 })
		server("stop")
		proxy.to(host(server("start")))
	}
	before := len(s.got())
	eventually(t, "events are delivered again", func() bool { return len(s.got()) > before+50 })
	stop()
	app.Wait()
	eventually(t, "all is delivered", func() bool {
		n, err := d.Store.Count(t.Context(), outbox.Query{})
		return err == nil && n == 0
	})
	var first []string
	seen := make(map[string]bool)
	for _, id := range s.got() {
		if !seen[id] {
			seen[id] = true
			first = append(first, id)
		}
	}
	// A commit whose answer was lost may be there, or not.
	known := slices.DeleteFunc(slices.Clone(first), func(id string) bool { return !slices.Contains(committed, id) })
	if !slices.Equal(known, committed) {
		t.Fatalf("%d events committed, %d of them delivered, or in another order", len(committed), len(known))
	}
	t.Logf("%d events committed, %d deliveries", len(committed), len(s.got()))
}

// tried writes an event, and reports whether it is known to be committed.
func tried(ctx context.Context, d *database, id string) bool {
	err := pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		return outbox.Write(ctx, outbox.Pgx(tx).In(d.schema), outbox.Event{ID: id, Topic: "t", Key: "k"})
	})
	return err == nil
}

package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/test/pgtest"
	"github.com/bezoar-dev/bezoar/outbox"
)

// TestRestart stops the server, as an operator and as kill -9 do, and starts it again while
// an application writes and a relay works.
func TestRestart(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	t.Cleanup(server.Remove)
	d := newOutbox(t, connect(t, server.URL("postgres")))
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
	for _, mode := range []string{"fast", "immediate", "fast"} {
		before := len(s.got())
		eventually(t, "events are delivered", func() bool { return len(s.got()) > before+50 })
		server.Stop(t, mode)
		server.Boot(t)
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

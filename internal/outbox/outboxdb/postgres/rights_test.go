package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/postgres"
	"github.com/bezoar-dev/bezoar/outbox"
)

// TestRights has a relay's role lack rights: errors name the role, what it may not use, and
// the statement that helps. It helps, also while a relay waits.
func TestRights(t *testing.T) {
	t.Parallel()
	d := newOutbox(t, connect(t, server(t)))
	ctx := t.Context()
	role := d.schema + "_relay"
	exec := func(statement string) {
		t.Helper()
		if _, err := d.pool.Exec(ctx, strings.NewReplacer("{s}", d.schema, "{r}", role).Replace(statement), pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	exec(`CREATE ROLE {r} LOGIN PASSWORD 'p'`)
	defer d.pool.Exec(t.Context(), `DROP OWNED BY `+role+`; DROP ROLE `+role, pgx.QueryExecModeSimpleProtocol)
	u, err := url.Parse(d.url)
	if err != nil {
		t.Fatal(err)
	}
	owner := u.User.Username()
	u.User = url.UserPassword(role, "p")
	c := postgres.Config{URL: u.String(), Schema: d.schema}
	says := func(what string, err error, want ...string) {
		t.Helper()
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v, want that it says %q", what, err, w)
			}
		}
	}
	grant := "GRANT " + owner + " TO " + role
	_, err = postgres.Open(ctx, c)
	says("open", err, "permission denied for schema "+d.schema, "the role "+role+" must work with the outbox of "+owner, grant)
	says("init", postgres.Init(ctx, c), "permission denied for database ", grant)
	c.Schema = "another_" + d.schema
	says("init of another", postgres.Init(ctx, c), "permission denied for database ", "GRANT CREATE ON DATABASE ", " TO "+role)
	c.Schema = d.schema

	exec(`GRANT USAGE ON SCHEMA {s} TO {r}; GRANT SELECT ON {s}.meta TO {r}`)
	store, err := postgres.Open(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	_, err = store.Acquire(ctx, "relay", time.Minute)
	says("acquire", err, "permission denied for table lease", grant)
	s, r := relayTo(t, outbox.Config{Store: store, Lease: time.Second})
	d.write(t, "1")
	eventually(t, "an alarm has the statement", func() bool {
		return slices.ContainsFunc(r.Stats().Alarms, func(a outbox.Alarm) bool { return strings.Contains(a.What, grant) })
	})
	exec(grant)
	eventually(t, "it is delivered", func() bool { return len(s.got()) == 1 })
}

// TestDropped has the outbox's tables dropped while a relay works and producers write: the
// relay says so, and goes on when they are made again.
func TestDropped(t *testing.T) {
	t.Parallel()
	d := newOutbox(t, connect(t, server(t)))
	s, r := relayTo(t, outbox.Config{Store: d.Store, Lease: time.Second})
	ctx, cancel := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			tried(t.Context(), d, fmt.Sprint("early ", i)) // or not
		}
	})
	stop := sync.OnceFunc(func() { cancel(); writer.Wait() })
	defer stop()
	eventually(t, "events are delivered", func() bool { return len(s.got()) > 20 })
	for _, drop := range []string{`DROP TABLE {s}.pending`, `DROP SCHEMA {s} CASCADE`} {
		eventually(t, drop, func() bool { // it may be the victim of a deadlock with those who write
			_, err := d.pool.Exec(ctx, strings.ReplaceAll(drop, "{s}", d.schema))
			return err == nil
		})
		eventually(t, "the relay says how to make it after "+drop, func() bool {
			return slices.ContainsFunc(r.Stats().Alarms, func(a outbox.Alarm) bool { return strings.Contains(a.What, "create it with `bezoar outbox init`") })
		})
		if err := postgres.Init(ctx, postgres.Config{URL: d.url, Schema: d.schema}); err != nil {
			t.Fatal(err)
		}
		before := len(s.got())
		eventually(t, "events are delivered again after "+drop, func() bool { return len(s.got()) > before+20 && len(r.Stats().Alarms) == 0 })
	}
	stop()
	eventually(t, "all is delivered", func() bool {
		n, err := d.Store.Count(t.Context(), outbox.Query{})
		return err == nil && n == 0
	})
}

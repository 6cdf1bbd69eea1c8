package app_test

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/app"
)

// A PostgreSQL that is full of dead rows degrades health, is logged with the way out,
// and does not take the node out of the traffic.
func TestBloatOfPostgresDegrades(t *testing.T) {
	at := os.Getenv("BEZOAR_TEST_POSTGRES")
	if at == "" {
		t.Skip("no PostgreSQL: run make test, or export BEZOAR_TEST_POSTGRES=$(scripts/postgres start)")
	}
	cfg := onlyQueues(t.TempDir())
	cfg.Store = newDatabase(t, at)
	health := func(want ...string) func(*app.App) {
		return func(a *app.App) {
			(&rig{t: t}).until("health has "+strings.Join(want, ", "), func() bool {
				res, err := http.Get("http://" + a.AdminAddr() + "/healthz")
				if err != nil {
					return false
				}
				defer res.Body.Close()
				text, err := io.ReadAll(res.Body)
				for _, part := range want {
					if !strings.Contains(string(text), part) {
						return false
					}
				}
				return err == nil && strings.Contains(string(text), `"ready":true`)
			})
		}
	}
	const transactions = `"store:transactions","kind":"custom","state":"ok"`
	if log, err := once(t, cfg, health(transactions, `"store:bloat","kind":"custom","state":"ok"`)); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	conn, err := pgx.Connect(t.Context(), cfg.Store)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`ALTER TABLE bezoar.queue_leftovers SET (autovacuum_enabled = false)`,
		`INSERT INTO bezoar.queue_leftovers (bucket, since) SELECT n, 0 FROM generate_series(1, 100001) n`, `DELETE FROM bezoar.queue_leftovers`,
	} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	log, err := once(t, cfg, health(transactions, `"store:bloat","kind":"custom","state":"degraded"`, `{"state":"degraded"`))
	if err != nil || strings.Count(log, "check=store:bloat") != 1 || !strings.Contains(log, "VACUUM bezoar.queue_leftovers") {
		t.Errorf("%v\n%s", err, log)
	}
}

package clients

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goMain calls the guide's example in Go.
const goMain = `package main

import (
	"context"
	"log"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bezoar-dev/bezoar/outbox"
)

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err == nil {
		err = placeOrder(ctx, pool)
	}
	if err != nil {
		log.Fatal(err)
	}
}

`

// Each example of the guide to outboxes writes its event with its order, and neither when
// the order is there already.
func TestOutboxGuide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/outbox.md")
	if err != nil {
		t.Fatal(err)
	}
	bezoar := filepath.Join(t.TempDir(), "bezoar")
	goBuild(t, "..", "./cmd/bezoar", bezoar, "CGO_ENABLED=0")
	for lang, example := range map[string]func(t *testing.T, code string) *exec.Cmd{
		"go": func(t *testing.T, code string) *exec.Cmd {
			t.Helper()
			program := filepath.Join(t.TempDir(), "example")
			goBuild(t, "..", written(t, "main.go", goMain+code), program, "CGO_ENABLED=0")
			return exec.CommandContext(t.Context(), program)
		},
		"py": func(t *testing.T, code string) *exec.Cmd {
			t.Helper()
			return exec.CommandContext(t.Context(), fetch(t, "python"), written(t, "example.py", code))
		},
		"js": func(t *testing.T, code string) *exec.Cmd {
			t.Helper()
			cmd := exec.CommandContext(t.Context(), "node", "--input-type=module", "--eval", code)
			cmd.Dir = fetch(t, "node")
			return cmd
		},
	} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			blocks := regexp.MustCompile("(?ms)^```"+lang+"\n(.*?)^```$").FindAllSubmatch(guide, -1)
			if len(blocks) != 1 {
				t.Fatalf("the guide has %d examples, want one", len(blocks))
			}
			at := newDatabase(t)
			if out, err := exec.CommandContext(t.Context(), bezoar, "outbox", "init", "--database", at).CombinedOutput(); err != nil {
				t.Fatalf("bezoar outbox init: %v\n%s", err, out)
			}
			query(t, at, "CREATE TABLE orders (id text PRIMARY KEY, total integer)")
			made := example(t, string(blocks[0][1]))
			for n := range 2 {
				cmd := exec.CommandContext(t.Context(), made.Path, made.Args[1:]...)
				cmd.Dir, cmd.Env = made.Dir, append(os.Environ(), "DATABASE_URL="+at)
				out, err := cmd.CombinedOutput()
				if n == 0 && err != nil || n == 1 && (err == nil || !bytes.Contains(out, []byte("orders_pkey"))) {
					t.Fatalf("run %d: %v\n%s", n+1, err, out)
				}
				const want = "orders|4711|1|order.placed|12"
				if got := query(t, at, `SELECT topic, key, seq, type, convert_from(payload, 'UTF8')::json->>'total' FROM bezoar_outbox.events`); got != want {
					t.Errorf("after run %d the outbox has %q, want %q", n+1, got, want)
				}
			}
			if out, err := exec.CommandContext(t.Context(), bezoar, "outbox", "verify", "--database", at).CombinedOutput(); err != nil {
				t.Errorf("bezoar outbox verify: %v\n%s", err, out)
			}
		})
	}
}

// written is a file with this text.
func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// query has psql run a statement, and returns what it prints.
func query(t *testing.T, at, statement string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "psql", "-X", "-q", "-A", "-t", "-c", statement, at).CombinedOutput()
	if err != nil {
		t.Fatalf("psql -c %q: %v\n%s", statement, err, out)
	}
	return strings.TrimSpace(string(out))
}

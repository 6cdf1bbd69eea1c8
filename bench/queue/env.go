package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	driver "modernc.org/sqlite"

	"github.com/bezoar-dev/bezoar/bench/internal/proc"
)

// goawsModule is built when it is needed: nothing here links it.
const goawsModule = "github.com/Admiral-Piett/goaws/app/cmd@v0.4.5"

// Env is where the subjects live.
type Env struct {
	Dir      string // on a real disk; removed at the end
	Postgres string // the URL of a server on which databases can be made; "" for none
	Bezoar   string // the binary; "" builds it
	Repo     string // the checkout, for that

	leash *proc.Leash
	goaws string
}

// NewEnv makes a folder below dir ("" means the system's).
func NewEnv(dir, postgres, bezoar string) (*Env, error) {
	// Every SQLite here is the same driver. What Bezoar switches on for the
	// process, its peers are to have from their first byte.
	if _, err := driver.Fdatasync(true); err != nil {
		return nil, fmt.Errorf("switch SQLite to fdatasync: %w", err)
	}
	dir, err := os.MkdirTemp(dir, "bench-queue-")
	if err != nil {
		return nil, err
	}
	leash, err := proc.NewLeash()
	if err != nil {
		return nil, err
	}
	return &Env{Dir: dir, Postgres: postgres, Bezoar: bezoar, Repo: filepath.Join("..", ".."), leash: leash}, nil
}

// Close ends what was started and removes what was written.
func (e *Env) Close() error {
	e.leash.Close()
	return os.RemoveAll(e.Dir)
}

// fresh makes a folder for one measurement.
func (e *Env) fresh() (string, error) { return os.MkdirTemp(e.Dir, "") }

// bezoar returns the binary, built from the checkout unless one was named.
func (e *Env) bezoar(ctx context.Context) (string, error) {
	if e.Bezoar != "" {
		return e.Bezoar, nil
	}
	path := filepath.Join(e.Dir, "bezoar")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, "./cmd/bezoar")
	cmd.Dir, cmd.Env = e.Repo, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build bezoar: %w\n%s", err, out)
	}
	e.Bezoar = path
	return path, nil
}

// buildGoaws builds goaws from the module proxy, once.
func (e *Env) buildGoaws(ctx context.Context) (string, error) {
	if e.goaws != "" {
		return e.goaws, nil
	}
	bin := filepath.Join(e.Dir, "goaws")
	cmd := exec.CommandContext(ctx, "go", "install", goawsModule)
	cmd.Dir, cmd.Env = e.Dir, append(os.Environ(), "GOBIN="+bin, "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: go install %s: %w: %s", ErrAbsent, goawsModule, err, strings.TrimSpace(string(out)))
	}
	e.goaws = filepath.Join(bin, "cmd")
	return e.goaws, nil
}

// sqlitePragmas are those of every peer: as safe as Bezoar's own, and as fast
// as that allows.
const sqlitePragmas = "journal_mode=WAL synchronous=FULL busy_timeout=5000 foreign_keys=1, BEGIN IMMEDIATE, one connection, fdatasync"

// openSQLite opens a new file as the peers' documentation recommends, and
// refuses to go on when it is less durable than that.
func openSQLite(ctx context.Context, e *Env) (*sql.DB, error) {
	dir, err := e.fresh()
	if err != nil {
		return nil, err
	}
	settings := url.Values{
		"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"},
		"_txlock": {"immediate"},
	}
	file := url.URL{Scheme: "file", Path: filepath.Join(dir, "peer.db"), RawQuery: settings.Encode()}
	db, err := sql.Open("sqlite", file.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	var journal string
	var synchronous int
	err = db.QueryRowContext(ctx, "SELECT journal_mode, synchronous FROM pragma_journal_mode, pragma_synchronous").Scan(&journal, &synchronous)
	if err == nil && (journal != "wal" || synchronous != 2) {
		err = fmt.Errorf("journal_mode is %s and synchronous %d, want wal and 2", journal, synchronous)
	}
	if err != nil {
		return nil, fmt.Errorf("open a peer's SQLite file: %w", err)
	}
	return db, nil
}

package app_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/config"
)

// onlyQueues is a Bezoar without workers, whose store and state are in dir.
func onlyQueues(dir string) config.Config {
	cfg := config.Default()
	cfg.Listen, cfg.SQS, cfg.Admin = "", "127.0.0.1:0", "127.0.0.1:0"
	cfg.Store, cfg.StateDir = "sqlite:"+filepath.Join(dir, "bezoar.db"), filepath.Join(dir, "state")
	return cfg.Normalize()
}

// once starts and stops a Bezoar, and returns what it logged. while is called when
// it serves.
func once(t *testing.T, cfg config.Config, while func(*app.App)) (log string, err error) {
	t.Helper()
	var said syncBuffer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a, err := app.New(ctx, cfg, app.Options{
		Log: slog.New(slog.NewTextHandler(&said, nil)),
		Started: func(a *app.App) {
			go func() {
				defer cancel()
				if while != nil {
					while(a)
				}
			}()
		},
	})
	if err == nil {
		if err = a.Run(ctx); errors.Is(err, context.Canceled) {
			err = nil
		}
	}
	return said.String(), err
}

// A store that is empty although the state directory knows it otherwise does not
// begin anew, and what lost its secret says so.
func TestAStoreIsTheOneThatTheStateDirectoryKnows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg, db := onlyQueues(dir), filepath.Join(dir, "bezoar.db")
	for range 2 {
		if log, err := once(t, cfg, nil); err != nil || strings.Contains(log, "level=ERROR") {
			t.Fatalf("%v\n%s", err, log)
		}
	}
	saved, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	for what, lose := range map[string]func() error{
		"emptied": func() error { return os.Truncate(db, 0) },
		"deleted": func() error { return os.Remove(db) },
	} {
		if err := lose(); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the first time leaves no trace
			if _, err := once(t, cfg, nil); err == nil || !strings.Contains(err.Error(), "is empty") || !strings.Contains(err.Error(), "remove "+filepath.Join(dir, "state", "store")) {
				t.Errorf("with the file %s it started, or said %v", what, err)
			}
		}
		if err := os.WriteFile(db, saved, 0o600); err != nil {
			t.Fatal(err)
		}
		if log, err := once(t, cfg, nil); err != nil {
			t.Errorf("with the file restored it said %v\n%s", err, log)
		}
	}
	kept := filepath.Join(dir, "kept") // is never written in place: what is cut off halfway would be left
	if err := os.Link(filepath.Join(dir, "state", "store"), kept); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	other := cfg
	other.Store = "sqlite:" + filepath.Join(dir, "other.db")
	for _, next := range []config.Config{other, cfg, other} {
		if _, err := once(t, next, nil); err != nil {
			t.Errorf("with another store it said %v", err)
		}
	}
	if after, err := os.ReadFile(kept); err != nil || string(after) != string(before) {
		t.Errorf("the state directory's knowledge of the store was written over: %s, %v", after, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "state")); err != nil {
		t.Fatal(err)
	}
	if log, err := once(t, cfg, nil); err != nil || !strings.Contains(log, "level=ERROR msg=\"this store was used with another secret") {
		t.Errorf("without its state directory it said %v\n%s", err, log)
	}
	if err := os.Chmod(filepath.Join(dir, "state"), 0o777); err != nil { //nolint:gosec // that is the fault
		t.Fatal(err)
	}
	if _, err := once(t, cfg, nil); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("a state directory that everybody may write in gave %v", err)
	}
}

// A file that is deleted under a running Bezoar turns its health red.
func TestADeletedStoreIsNotHealthy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := onlyQueues(dir)
	log, _ := once(t, cfg, func(a *app.App) {
		ask := func(url string) int {
			res, err := http.Get("http://" + url)
			if err != nil {
				return 0
			}
			defer res.Body.Close()
			return res.StatusCode
		}
		r := &rig{t: t}
		r.until("it is ready", func() bool { return ask(a.AdminAddr()+"/readyz") == http.StatusOK })
		if err := os.Remove(filepath.Join(dir, "bezoar.db")); err != nil {
			t.Error(err)
		}
		r.until("it is not", func() bool { return ask(a.AdminAddr()+"/readyz") == http.StatusServiceUnavailable })
		if got := ask(a.SQSAddr() + "/health"); got != http.StatusServiceUnavailable {
			t.Errorf("the SQS endpoint's health is %d", got)
		}
	})
	if !strings.Contains(log, "check=store:file from=ok to=failing") || !strings.Contains(log, "restore a backup") {
		t.Errorf("the log does not say why:\n%s", log)
	}
}

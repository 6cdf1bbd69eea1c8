package app_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/store"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// A backup beside a Bezoar that another process runs under load has everything that
// was acknowledged before it began and not deleted since; another Bezoar serves it.
func TestABackupUnderLoad(t *testing.T) {
	if pace.Watched {
		t.Skip("SQLite is many times slower there")
	}
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	settings := head(sqliteIn(dir), dir) + "queues:\n  jobs: {visibility: 10m}\n"
	n := spawn(t, settings)
	p := &producers{acked: map[string]bool{}}
	ctx, stop := context.WithCancel(t.Context())
	var crew sync.WaitGroup
	p.run(ctx, &crew, n.sqs, n.queueURL("jobs"))
	d := &deletions{done: map[string]bool{}}
	crew.Go(func() { d.run(ctx, n) })
	n.until("messages are acknowledged and deleted", func() bool { return p.count() > 500 && len(d.copied()) > 50 })
	p.mu.Lock()
	acked := maps.Clone(p.acked)
	p.mu.Unlock()
	gone := d.copied()
	cfg, err := config.ParseEdited("test.yaml", []byte(settings), nil)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(other, "bezoar.db")
	if _, err := (app.Backup{To: to}).Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	have := p.count()
	n.until("sends go on after the backup", func() bool { return p.count() > have })
	stop()
	crew.Wait()
	n.kill()

	copySecret(t, dir, other)
	m := serve(t, head("sqlite:"+to, other)+"queues:\n  jobs: {visibility: 10m}\n")
	there := map[string]bool{}
	for _, body := range m.bodies("jobs") {
		there[body] = true
	}
	since := d.copied()
	for body := range acked {
		if !there[body] && !since[body] {
			t.Errorf("%s was acknowledged and is lost", body)
		}
	}
	for body := range gone {
		if there[body] {
			t.Errorf("%s was deleted before and is there", body)
		}
	}
	m.stop()

	// Put in the place of the store it is known to the state directory.
	for _, end := range []string{"-wal", "-shm"} {
		if err := os.Remove(filepath.Join(dir, "bezoar.db"+end)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err := os.Rename(to, filepath.Join(dir, "bezoar.db")); err != nil {
		t.Fatal(err)
	}
	if back := serve(t, settings).bodies("jobs"); len(back) != len(there) {
		t.Errorf("%d messages were in the copy, and in its place there are %d", len(there), len(back))
	}
}

func copySecret(t *testing.T, from, to string) {
	t.Helper()
	secret, err := os.ReadFile(filepath.Join(from, "secret"))
	if err == nil {
		err = os.WriteFile(filepath.Join(to, "secret"), secret, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// deletions are the bodies whose deletion has begun.
type deletions struct {
	mu   sync.Mutex // guards done
	done map[string]bool
}

func (d *deletions) copied() map[string]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.done)
}

func (d *deletions) run(ctx context.Context, n *node) {
	url := n.queueURL("jobs")
	for ctx.Err() == nil {
		var got struct{ Messages []received }
		if sqsCall(ctx, n.sqs, "ReceiveMessage", map[string]any{"QueueUrl": url, "MaxNumberOfMessages": 10}, &got) != nil {
			return
		}
		for _, m := range got.Messages {
			err := sqsCall(ctx, n.sqs, "DeleteMessage", map[string]any{"QueueUrl": url, "ReceiptHandle": m.ReceiptHandle}, nil)
			d.mu.Lock()
			d.done[m.Body] = true // also when nobody knows
			d.mu.Unlock()
			if err != nil {
				return
			}
		}
	}
}

func TestABackupIsOfTheStoreThatTheStateDirectoryKnows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := onlyQueues(dir)
	if _, err := once(t, cfg, nil); err != nil {
		t.Fatal(err)
	}
	b := app.Backup{To: filepath.Join(t.TempDir(), "copy.db")}
	if _, err := b.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	known := filepath.Join(cfg.StateDir, "store")
	text, err := os.ReadFile(known)
	if err == nil {
		err = os.WriteFile(known, []byte(strings.Replace(string(text), `"name":"`, `"name":"X`, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.To = filepath.Join(t.TempDir(), "copy.db")
	if _, err := b.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "is not the store that was used") {
		t.Errorf("a backup of another store: %v", err)
	}
	for at, say := range map[string]string{"postgres://bezoar@127.0.0.1/bezoar": "pg_dump", "memory:": "nothing outlives"} {
		cfg.Store = at
		if _, err := b.Run(t.Context(), cfg); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// A restored store is served by the state directory that knew it, and nothing is
// restored beside a Bezoar that runs.
func TestARestoreIsForTheStateDirectoryThatKnowsIt(t *testing.T) {
	t.Parallel()
	cfg := onlyQueues(t.TempDir())
	if _, err := once(t, cfg, nil); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	if _, err := (app.Backup{To: copied}).Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	r := app.Restore{From: copied, Replace: true}
	_, err := once(t, cfg, func(*app.App) {
		if _, err := r.Run(t.Context(), cfg); !errors.Is(err, store.ErrInUse) || !strings.Contains(err.Error(), "pid") {
			t.Errorf("beside a Bezoar that runs: %v", err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(cfg.StateDir, "secret")
	if err := os.Rename(secret, secret+".away"); err != nil {
		t.Fatal(err)
	}
	done, err := r.Run(t.Context(), cfg)
	if err != nil || done.Secret != secret || done.Kept == "" {
		t.Errorf("without the secret: %+v, %v", done, err)
	}
	if err := os.Rename(secret+".away", secret); err != nil {
		t.Fatal(err)
	}
	if _, err := once(t, cfg, nil); err != nil {
		t.Errorf("the restored store is not served: %v", err)
	}
	other := onlyQueues(t.TempDir())
	if _, err := once(t, other, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(t.Context(), other); err == nil || !strings.Contains(err.Error(), "is not the store that was used") {
		t.Errorf("the backup of another store: %v", err)
	}
	for at, say := range map[string]string{"postgres://bezoar@127.0.0.1/bezoar": "pg_restore", "memory:": "nothing can be restored"} {
		cfg.Store = at
		if _, err := r.Run(t.Context(), cfg); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

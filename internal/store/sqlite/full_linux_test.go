package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
	"github.com/bezoar-dev/bezoar/queue"
)

// smallDisk mounts one, if this user may.
func smallDisk(t *testing.T) (dir string, ok bool) {
	t.Helper()
	dir = t.TempDir()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=24m")
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return "", false
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir, true
}

// fill sends until a send fails, and returns what was acknowledged.
func fill(ctx context.Context, e *queue.Engine, size int) (acknowledged []string, full error) {
	for i := range 100_000 {
		body := fmt.Sprintf("%06d %s", i, strings.Repeat("x", size))
		if _, err := e.Send(ctx, "jobs", queue.SendInput{Body: []byte(body)}); err != nil {
			return acknowledged, err
		}
		acknowledged = append(acknowledged, body[:6])
	}
	return acknowledged, nil
}

// drainAll receives and deletes everything.
func drainAll(ctx context.Context, e *queue.Engine) (found map[string]int, err error) {
	found = map[string]int{}
	for {
		m, err := e.Receive(ctx, "jobs", queue.ReceiveInput{Max: 100})
		if err != nil || len(m) == 0 {
			return found, err
		}
		for _, m := range m {
			found[string(m.Body[:6])]++
			if err := e.Delete(ctx, "jobs", m.Receipt); err != nil {
				return found, err
			}
		}
	}
}

// fillDisk has a disk become full under a queue. What frees it is told when.
func fillDisk(ctx context.Context, path string, free func() error) error {
	db, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return err
	}
	e, err := queue.New(queue.Config{}, db.Queue())
	if err != nil {
		return err
	}
	if _, err := e.CreateQueue(ctx, "jobs", queue.DefaultSettings(), nil); err != nil {
		return err
	}
	acknowledged, full := fill(ctx, e, 8000)
	if full == nil || !strings.Contains(full.Error(), path) || !strings.Contains(full.Error(), "free") {
		return fmt.Errorf("the send to a full disk = %w, want it to name %s and the way out", full, path)
	}
	if _, err := e.Peek(ctx, "jobs", 0, 10); err != nil {
		return fmt.Errorf("reading from a full disk: %w", err)
	}
	if err := free(); err != nil {
		return err
	}
	if _, err := e.Send(ctx, "jobs", queue.SendInput{Body: []byte("000000 after")}); err != nil {
		return fmt.Errorf("sending after room was made: %w", err)
	}
	found, err := drainAll(ctx, e)
	if err != nil {
		return err
	}
	for i, body := range acknowledged {
		if n := found[body]; n != 1 && i > 0 || n == 0 {
			return fmt.Errorf("of %d acknowledged message %s is there %d times", len(acknowledged), body, n)
		}
	}
	if len(found) != len(acknowledged) || len(found) < 100 {
		return fmt.Errorf("%d messages are there, %d were acknowledged", len(found), len(acknowledged))
	}
	return db.Close()
}

// A full disk loses nothing: the write fails with the reason, and when there is
// room again the same process goes on.
func TestQueueOnAFullDisk(t *testing.T) {
	pace.Alone(t)
	dir, ok := smallDisk(t)
	if !ok {
		limitedFiles(t)
		return
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 10<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := fillDisk(t.Context(), filepath.Join(dir, "bezoar.db"), func() error { return os.Remove(ballast) }); err != nil {
		t.Error(err)
	}
}

// A full disk does not stop receives and deletions, nor a restart; what is deleted
// makes room for more within the file.
func TestAFullDiskStopsSendsOnly(t *testing.T) {
	pace.Alone(t)
	dir, ok := smallDisk(t)
	if !ok {
		t.Skip("this user may not mount a small disk")
	}
	ctx := t.Context()
	c := sqlite.Config{Path: filepath.Join(dir, "bezoar.db"), Reserve: 4 << 20}
	execSQL(t, c.Path, "PRAGMA application_id = 0x627a6f72") // a file of an earlier version, which does not shrink
	start := func() (*sqlite.DB, *queue.Engine) {
		db := reopen(t, c)
		e, err := queue.New(queue.Config{}, db.Queue())
		if err != nil {
			t.Fatal(err)
		}
		return db, e
	}
	db, e := start()
	if _, err := e.CreateQueue(ctx, "jobs", queue.DefaultSettings(), nil); err != nil {
		t.Fatal(err)
	}
	acknowledged, full := fill(ctx, e, 100_000)
	for range 3 {
		if _, again := e.Send(ctx, "jobs", queue.SendInput{Body: []byte("000000 more")}); queue.CodeOf(full) != queue.ErrNoSpace || !errors.Is(again, sqlite.ErrFull) || !strings.Contains(again.Error(), dir) {
			t.Errorf("the send to a full disk = %v, and then %v", full, again)
		}
	}
	if err := db.Check(ctx); !errors.Is(err, sqlite.ErrFull) {
		t.Errorf("the check says %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	ballast(t, dir)
	db, e = start()
	if err := db.Check(ctx); !errors.Is(err, sqlite.ErrFull) {
		t.Errorf("after a restart the check says %v", err)
	}
	found, err := drainAll(ctx, e)
	if err != nil || len(found) != len(acknowledged) || len(found) < 50 {
		t.Fatalf("%d of %d acknowledged messages were received and deleted: %v", len(found), len(acknowledged), err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		_, err := e.Send(ctx, "jobs", queue.SendInput{Body: []byte("000000 within")})
		if err == nil {
			break
		}
		if !errors.Is(err, sqlite.ErrFull) || time.Now().After(deadline) {
			t.Fatalf("with room within the file a send says %v", err)
		}
	}
	if err := db.Check(ctx); !errors.Is(err, sqlite.ErrFull) {
		t.Errorf("with room within the file the check says %v", err)
	}
}

// What is deleted goes back to a full disk, which then is full no more.
func TestAFullDiskGetsSpaceBack(t *testing.T) {
	pace.Alone(t)
	dir, ok := smallDisk(t)
	if !ok {
		t.Skip("this user may not mount a small disk")
	}
	c := sqlite.Config{Path: filepath.Join(dir, "bezoar.db"), Reserve: 4 << 20}
	start := func() (*sqlite.DB, *queue.Engine) {
		db := reopen(t, c)
		e, err := queue.New(queue.Config{}, db.Queue())
		if err != nil {
			t.Fatal(err)
		}
		return db, e
	}
	db, e := start()
	if _, err := e.CreateQueue(t.Context(), "jobs", queue.DefaultSettings(), nil); err != nil {
		t.Fatal(err)
	}
	if acknowledged, full := fill(t.Context(), e, 100_000); full == nil || len(acknowledged) < 50 {
		t.Fatalf("%d messages are acknowledged, and then %v", len(acknowledged), full)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	ballast(t, dir)
	db, e = start()
	if _, err := drainAll(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); db.Check(t.Context()) != nil; <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("the file has %d bytes: %v", sizeOf(t, c.Path), db.Check(t.Context()))
		}
	}
}

// ballast fills what is left of a disk.
func ballast(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}

// limitedFiles is the same where nobody may mount: a process whose files may
// grow only so far.
func limitedFiles(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "SQLITE_TEST_ROLE=full", "SQLITE_TEST_PATH="+filepath.Join(t.TempDir(), "bezoar.db"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// A test of it also where a disk can be mounted.
func TestQueueOnLimitedFiles(t *testing.T) {
	pace.Alone(t)
	limitedFiles(t)
}

// playFull is the process that limitedFiles starts.
func playFull(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	hard := limit
	limit.Cur = 6 << 20
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	return fillDisk(context.Background(), path, func() error { return unix.Setrlimit(unix.RLIMIT_FSIZE, &hard) })
}

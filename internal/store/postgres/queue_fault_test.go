package postgres_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/store/postgres"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
	"github.com/bezoar-dev/bezoar/queue"
)

// played is what somebody who works with a queue was told, and what they were
// about to do.
type played struct {
	mu       sync.Mutex // guards all below
	sent     map[string]bool
	deleting map[string]bool
	deleted  map[string]bool
}

func newPlayed() *played {
	return &played{sent: map[string]bool{}, deleting: map[string]bool{}, deleted: map[string]bool{}}
}

func (p *played) note(what, body string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	map[string]map[string]bool{"sent": p.sent, "deleting": p.deleting, "deleted": p.deleted}[what][body] = true
}

func (p *played) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.sent) + len(p.deleted)
}

// check wants what was acknowledged done, dead or there, once; and what was
// deleted away.
func (p *played) check(t *testing.T, e *queue.Engine) {
	t.Helper()
	there := map[string]int{}
	for _, name := range []string{"jobs", "dead"} {
		for after := int64(0); ; {
			messages, err := e.Peek(t.Context(), name, after, queue.MaxBatch)
			if err != nil {
				t.Fatal(err)
			}
			if len(messages) == 0 {
				break
			}
			for _, m := range messages {
				there[string(m.Body)]++
				after = m.Sequence
			}
		}
	}
	for body := range p.sent {
		if there[body] == 0 && !p.deleting[body] {
			t.Errorf("%s was acknowledged and is lost", body)
		}
	}
	for body, n := range there {
		if n > 1 {
			t.Errorf("%s is there %d times", body, n)
		}
		if p.deleted[body] {
			t.Errorf("%s was deleted and is there", body)
		}
	}
	t.Logf("%d sent, %d deleted, %d there", len(p.sent), len(p.deleted), len(there))
	if len(p.sent) == 0 || len(p.deleted) == 0 {
		t.Error("nothing happened")
	}
}

// play works with a queue until do says that it is over: it sends, receives,
// deletes, rejects, gives back and lets leases expire. failed decides about
// errors.
func play(ctx context.Context, s queue.Store, who string, note func(what, body string), failed func(error) error) error {
	e, err := queue.New(queue.Config{SweepEvery: 20 * time.Millisecond, PollEvery: 20 * time.Millisecond}, s)
	if err != nil {
		return err
	}
	settings := queue.DefaultSettings()
	if _, err := e.CreateQueue(ctx, "dead", settings, nil); err != nil {
		return err
	}
	settings.Visibility, settings.DeadLetter = 200*time.Millisecond, queue.DeadLetter{Queue: "dead", MaxReceives: 3}
	if _, err := e.CreateQueue(ctx, "jobs", settings, nil); err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make(chan error, 8)
	wg.Go(func() { errs <- e.Run(ctx) })
	for w := range 3 {
		wg.Go(func() { errs <- playSender(ctx, e, fmt.Sprint(who, "/", w), note, failed) })
		wg.Go(func() { errs <- playConsumer(ctx, e, note, failed) })
	}
	wg.Wait()
	close(errs)
	for e := range errs {
		err = errors.Join(err, e)
	}
	return err
}

func playSender(ctx context.Context, e *queue.Engine, who string, note func(what, body string), failed func(error) error) error {
	for i := 0; ctx.Err() == nil; i++ {
		var batch []queue.SendInput
		for n := range 1 + i%5 {
			batch = append(batch, queue.SendInput{Body: fmt.Appendf(nil, "%s/%d/%d", who, i, n)})
		}
		results, err := e.SendBatch(ctx, "jobs", batch)
		if err != nil {
			if err := failed(err); err != nil {
				return err
			}
			continue
		}
		for n := range results {
			note("sent", string(batch[n].Body))
		}
	}
	return nil
}

func playConsumer(ctx context.Context, e *queue.Engine, note func(what, body string), failed func(error) error) error {
	for i := 0; ctx.Err() == nil; i++ {
		messages, err := e.Receive(ctx, "jobs", queue.ReceiveInput{Max: 4, Wait: new(100 * time.Millisecond)})
		if err != nil {
			if err := failed(err); err != nil {
				return err
			}
			continue
		}
		for n, m := range messages {
			body := string(m.Body)
			switch (i + n) % 10 {
			case 0: // its lease expires
			case 1:
				err = e.Reject(ctx, "jobs", m.Receipt, queue.Outcome{Class: bezoar.Bug})
			case 2:
				err = e.ChangeVisibility(ctx, "jobs", m.Receipt, 0)
			default:
				note("deleting", body)
				// After its lease it may have died: then its letter stays.
				if err = e.Delete(ctx, "jobs", m.Receipt); err == nil && time.Now().Before(m.VisibleAt) {
					note("deleted", body)
				}
			}
			if code := queue.CodeOf(err); err != nil && code != queue.ErrReceiptStale && code != queue.ErrMessageGone {
				if err := failed(err); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// playRole is this test binary as another process, until it is killed.
func playRole(at, schema string) error {
	ctx := context.Background()
	db, err := postgres.Open(ctx, postgres.Config{URL: at, Schema: schema})
	if err != nil {
		return err
	}
	if os.Getenv("POSTGRES_TEST_ROLE") == "settings" {
		return playSettings(ctx, db.Live())
	}
	note := func(what, body string) { fmt.Printf("%s %s\n", what, body) }
	return play(ctx, db.Queue(), fmt.Sprint(os.Getpid(), "-", time.Now().UnixNano()), note, func(err error) error { return err })
}

// However often a process is killed in the middle of its work: nothing that was
// acknowledged is lost, nothing is there twice, nothing is half done.
func TestQueueSurvivesKill(t *testing.T) {
	t.Parallel()
	lives := pace.Rounds(6, 3)
	if os.Getenv("BEZOAR_SOAK") != "" {
		lives = 200
	}
	schema := newSchema(t)
	at := with(t, server(t), "application_name", schema)
	open(t, postgres.Config{URL: at, Schema: schema})
	all := newPlayed()
	for range lives {
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), "POSTGRES_TEST_ROLE=play", "POSTGRES_TEST_URL="+at, "POSTGRES_TEST_SCHEMA="+schema)
		child.Stderr = os.Stderr
		said, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines, enough := bufio.NewScanner(said), all.count()+200
		for lines.Scan() {
			if what, body, ok := strings.Cut(lines.Text(), " "); ok && what != "" {
				all.note(what, body)
			}
			if all.count() == enough {
				if err := child.Process.Signal(syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := child.Wait(); err == nil || child.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("the process ended by itself: %v", err)
		}
	}
	quiet(t, schema)
	e, err := queue.New(queue.Config{}, open(t, postgres.Config{URL: server(t), Schema: schema}).Queue())
	if err != nil {
		t.Fatal(err)
	}
	all.check(t, e)
	sound(t, schema)
}

// quiet waits until the server has noticed that who worked is gone; what it was
// still told may be done after that.
func quiet(t *testing.T, name string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	const left = `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND state <> 'idle'`
	poll(t, "the sessions end", func() bool {
		var n int
		err := conn.QueryRow(t.Context(), left, name).Scan(&n)
		return err == nil && n == 0
	})
}

func poll(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !ok() {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// A PostgreSQL that dies under load and comes back: nothing is lost, and the
// work goes on without help.
func TestQueueSurvivesRestart(t *testing.T) {
	t.Parallel()
	server(t) // or skip
	script, err := filepath.Abs("../../../scripts/postgres")
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("", "bz") //nolint:usetesting // short: sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	own := func(command string) string {
		c := exec.CommandContext(context.Background(), script, command)
		c.Env = append(os.Environ(), "BEZOAR_POSTGRES_HOME="+filepath.Join(home, "pg"))
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s %s: %v: %s", script, command, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.Chmod(home, 0o755); err != nil { //nolint:gosec // the server runs as somebody else
		t.Fatal(err)
	}
	t.Cleanup(func() {
		own("destroy")
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	c := postgres.Config{URL: own("start")}
	all := newPlayed()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for w := range 2 {
		db := open(t, c)
		wg.Go(func() {
			err := play(ctx, db.Queue(), fmt.Sprint("w", w), all.note, func(error) error { return nil }) // they try again
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	for range pace.Rounds(3, 2) {
		enough := all.count() + 300
		poll(t, "work goes on", func() bool { return all.count() >= enough })
		restart(t, filepath.Join(home, "pg", "data"))
	}
	enough := all.count() + 300
	poll(t, "work goes on after the last restart", func() bool { return all.count() >= enough })
	cancel()
	wg.Wait()
	e, err := queue.New(queue.Config{}, open(t, c).Queue())
	if err != nil {
		t.Fatal(err)
	}
	all.check(t, e)
	conn, err := pgx.Connect(t.Context(), c.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	soundOn(t, conn, "bezoar")
}

// restart kills a server as a power cut would, and starts it again.
func restart(t *testing.T, data string) {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_ctl")
	control := "pg_ctl"
	if err == nil && len(found) > 0 {
		control = found[len(found)-1]
	}
	args := []string{control, "-D", data, "-m", "immediate", "-w", "-s", "-l", filepath.Join(data, "log"), "restart"}
	if os.Getuid() == 0 {
		args = append([]string{"runuser", "-u", "postgres", "--"}, args...)
	}
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Dir = "/"
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
}

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
	"github.com/bezoar-dev/bezoar/queue"
)

// playQueue says what is acknowledged, and what it is about to do, until it is
// killed. It sends, receives, deletes, rejects and purges nothing.
func playQueue(s queue.Store) error {
	ctx := context.Background()
	e, err := queue.New(queue.Config{SweepEvery: 5 * time.Millisecond}, s)
	if err != nil {
		return err
	}
	settings := queue.DefaultSettings()
	if _, err := e.CreateQueue(ctx, "dead", settings, nil); err != nil {
		return err
	}
	settings.Visibility = 50 * time.Millisecond
	settings.DeadLetter = queue.DeadLetter{Queue: "dead", MaxReceives: 3}
	if _, err := e.CreateQueue(ctx, "jobs", settings, nil); err != nil {
		return err
	}
	errs := make(chan error)
	go func() { errs <- e.Run(ctx) }()
	for w := range 3 {
		go func() { errs <- sendForever(ctx, e, w) }()
		go func() { errs <- consumeForever(ctx, e, w) }()
	}
	go func() { errs <- moveForever(ctx, s, e) }()
	return <-errs
}

func sendForever(ctx context.Context, e *queue.Engine, w int) error {
	for i := 0; ; i++ {
		var batch []queue.SendInput
		for n := range 1 + i%5 {
			batch = append(batch, queue.SendInput{Body: fmt.Appendf(nil, "%d/%d/%d/%d", w, time.Now().UnixNano(), i, n)})
		}
		results, err := e.SendBatch(ctx, "jobs", batch)
		if err != nil {
			return err
		}
		for n, r := range results {
			if r.Err != nil {
				return r.Err
			}
			fmt.Printf("sent %s\n", batch[n].Body)
		}
	}
}

func consumeForever(ctx context.Context, e *queue.Engine, w int) error {
	for i := w; ; i++ {
		messages, err := e.Receive(ctx, "jobs", queue.ReceiveInput{Max: 4, Wait: new(time.Second)})
		if err != nil {
			return err
		}
		for n, m := range messages {
			switch (i + n) % 8 {
			case 0: // its lease expires
			case 1:
				err = e.Reject(ctx, "jobs", m.Receipt, queue.Outcome{Class: bezoar.Bug})
			case 2:
				err = e.ChangeVisibility(ctx, "jobs", m.Receipt, 0)
			default:
				fmt.Printf("deleting %s\n", m.Body)
				// After its lease it may have died before: then it is gone
				// from here, and its letter stays.
				if err = e.Delete(ctx, "jobs", m.Receipt); err == nil && time.Now().Before(m.VisibleAt) {
					fmt.Printf("deleted %s %s\n", m.Body, m.ID)
				}
			}
			if code := queue.CodeOf(err); err != nil && code != queue.ErrReceiptStale && code != queue.ErrMessageGone {
				return err
			}
		}
	}
}

// moveForever sends dead letters back, in both ways, and to the trash and from
// there.
func moveForever(ctx context.Context, s queue.Store, e *queue.Engine) error {
	for i := 0; ; i++ {
		t := queue.MoveTask{ID: fmt.Sprint("task-", time.Now().UnixNano()), Source: "dead", Rate: 500, HaltAbove: 1}
		var err error
		switch i % 4 {
		case 0:
			_, err = e.StartMove(ctx, queue.MoveInput{Source: "dead"})
		case 1:
			t.Kind = queue.MoveDiscard
			t.Selection.Class = "timeout"
		case 2:
			t.Kind, t.Canary = queue.MoveRedrive, 3
		case 3:
			t.Kind, t.Source = queue.MoveRestore, queue.TrashQueue
		}
		if t.Kind != queue.MoveSQS {
			_, err = s.StartMove(ctx, t)
		}
		if err != nil && !errors.Is(err, queue.ErrMoveRunning) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// dieAt kills this process when it has come to a point so often: "in-claim:7".
func dieAt(db *sqlite.DB, where string) error {
	point, often, _ := strings.Cut(where, ":")
	left, err := strconv.Atoi(often)
	if err != nil || !slices.Contains(sqlite.Points(), point) {
		return fmt.Errorf("die at %q: no such point", where)
	}
	db.At(func(at string) {
		if at != point {
			return
		}
		if left--; left == 0 {
			if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
				panic(err)
			}
			select {} // it takes a moment, and nothing more may happen
		}
	})
	return nil
}

// However often Bezoar is killed, in whatever it does: what was acknowledged is
// done, dead or there, once; and what was deleted stays away.
func TestQueueSurvivesKill(t *testing.T) {
	lives := pace.Rounds(12, 6) // each point twice or once, and any moment
	if os.Getenv("BEZOAR_SOAK") != "" {
		lives = 200
	}
	path := filepath.Join(t.TempDir(), "bezoar.db")
	sent, deleting, deleted := map[string]bool{}, map[string]bool{}, map[string]bool{}
	died := map[string]int{}
	for life := range lives { // each recovers the last one's log
		// Beside the points there is any other moment.
		points := append(sqlite.Points(), "")
		point := points[life%len(points)]
		if point != "" {
			often := 1 + (life*37)%100
			if point == "before-cursor" { // there are fewer of these
				often = 1 + life%8
			}
			t.Setenv("SQLITE_TEST_DIE", fmt.Sprint(point, ":", often))
		} else {
			t.Setenv("SQLITE_TEST_DIE", "")
		}
		if killed(t, path, 150+37*(life%7), sent, deleting, deleted) {
			point = "any moment"
		}
		died[point]++
	}
	there := remaining(t, path)
	t.Logf("%d sent, %d deleted, %d there; died at %v", len(sent), len(deleted), len(there), died)
	for body := range sent {
		if !deleting[body] && there[body] == 0 {
			t.Errorf("message %s was acknowledged and is lost", body)
		}
	}
	for body, n := range there {
		if n > 1 || deleted[body] {
			t.Errorf("message %s is there %d times; its deletion was acknowledged: %v", body, n, deleted[body])
		}
	}
	for _, point := range sqlite.Points() {
		if died[point] == 0 {
			t.Errorf("nothing died at %s", point)
		}
	}
}

// killed lets a child play until it dies, or kills it after so many lines,
// which it reports.
func killed(t *testing.T, path string, lines int, sent, deleting, deleted map[string]bool) (byUs bool) {
	t.Helper()
	cmd, out := child(t, "queue", path)
	for n := 0; out.Scan(); n++ {
		note(t, out.Text(), sent, deleting, deleted)
		if n == lines && os.Getenv("SQLITE_TEST_DIE") == "" || n == 20*lines {
			byUs = true
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended by itself: %v", err)
	}
	return byUs
}

func note(t *testing.T, line string, sent, deleting, deleted map[string]bool) {
	t.Helper()
	what, rest, _ := strings.Cut(line, " ")
	body, _, _ := strings.Cut(rest, " ")
	switch what {
	case "sent":
		sent[body] = true
	case "deleting":
		deleting[body] = true
	case "deleted":
		deleted[body] = true
	default:
		t.Fatalf("the child says %q", line)
	}
}

// remaining returns how often each body is in a queue or in the trash.
func remaining(t *testing.T, path string) map[string]int {
	t.Helper()
	s := open(t, sqlite.Config{Path: path}).Queue()
	e, err := queue.New(queue.Config{}, s)
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]int{}
	for _, name := range []string{"jobs", "dead"} {
		found := int64(0)
		for after := int64(0); ; {
			m, err := e.Peek(t.Context(), name, after, queue.MaxBatch)
			if err != nil {
				t.Fatal(err)
			}
			if len(m) == 0 {
				break
			}
			for _, m := range m {
				there[string(m.Body)]++
				after = m.Sequence
				found++
			}
		}
		if c, err := e.Counts(t.Context(), name); err != nil || c.Visible+c.InFlight+c.Delayed != found {
			t.Errorf("%s counts %+v, %v; it holds %d", name, c, err, found)
		}
	}
	for after := int64(0); ; {
		letters, err := s.Letters(t.Context(), queue.Selection{Queue: queue.TrashQueue}, after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(letters) == 0 {
			return there
		}
		for _, l := range letters {
			whole, err := s.Letter(t.Context(), l.ID)
			if err != nil {
				t.Fatal(err)
			}
			there[string(whole.Body)]++
			after = l.Sequence
		}
	}
}

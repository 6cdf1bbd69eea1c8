package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
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
	go func() { errs <- moveForever(ctx, e) }()
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

func moveForever(ctx context.Context, e *queue.Engine) error {
	for {
		_, err := e.StartMove(ctx, queue.MoveInput{Source: "dead"})
		if err != nil && !errors.Is(err, queue.ErrMoveRunning) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// However often Bezoar is killed, in whatever it does: what was acknowledged is
// done, dead or there, once; and what was deleted stays away.
func TestQueueSurvivesKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.db")
	sent, deleting, deleted := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for life := range 6 { // each recovers the last one's log
		cmd, lines := child(t, "queue", path)
		for range 150 + 37*life {
			if !lines.Scan() {
				t.Fatalf("the child stopped by itself: %v", lines.Err())
			}
			note(t, lines.Text(), sent, deleting, deleted)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // what it could still say
			note(t, lines.Text(), sent, deleting, deleted)
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the killed child ended well")
		}
	}
	there := remaining(t, path)
	t.Logf("%d sent, %d deleted, %d there", len(sent), len(deleted), len(there))
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

// remaining returns how often each body is in either queue.
func remaining(t *testing.T, path string) map[string]int {
	t.Helper()
	e, err := queue.New(queue.Config{}, open(t, sqlite.Config{Path: path}).Queue())
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]int{}
	var mu sync.Mutex // guards there
	var wg sync.WaitGroup
	for _, name := range []string{"jobs", "dead"} {
		wg.Go(func() {
			for after := int64(0); ; {
				m, err := e.Peek(t.Context(), name, after, queue.MaxBatch)
				if err != nil {
					t.Error(err)
				}
				if len(m) == 0 {
					return
				}
				mu.Lock()
				for _, m := range m {
					there[string(m.Body)]++
					after = m.Sequence
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return there
}

package queue_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// distant is a store that others use too, and that may be away.
type distant struct {
	queue.Store
	away atomic.Bool
}

var errAway = errors.New("the store is away")

func (d *distant) Shared() bool { return true }

func (d *distant) Sweep(ctx context.Context, limit int) (queue.Swept, error) {
	if d.away.Load() {
		return queue.Swept{}, errAway
	}
	return d.Store.Sweep(ctx, limit)
}

func (d *distant) Moves(ctx context.Context, q queue.MoveQuery) ([]queue.MoveTask, error) {
	if d.away.Load() {
		return nil, errAway
	}
	return d.Store.Moves(ctx, q)
}

func (d *distant) Marks(ctx context.Context, prefix string) ([]queue.Mark, error) {
	if d.away.Load() {
		return nil, errAway
	}
	return d.Store.Marks(ctx, prefix)
}

func (d *distant) Queues(ctx context.Context, q queue.ListQuery) ([]queue.Queue, error) {
	if d.away.Load() {
		return nil, errAway
	}
	return d.Store.Queues(ctx, q)
}

// An outage of the store is told when it begins, once a minute, and when it
// ends, whatever upkeep tries meanwhile.
func TestAnOutageIsNoFlood(t *testing.T) {
	var buf bytes.Buffer // read when nobody writes
	bubble(t, queue.Config{}, func(r *rig) {
		d := &distant{Store: r.store}
		e := r.node(queue.Config{Log: slog.New(slog.NewTextHandler(&buf, nil))}, d)
		_, err := e.CreateQueue(r.Context(), "jobs", queue.DefaultSettings(), nil)
		r.must(err)
		pass(time.Minute)
		if buf.Len() > 0 {
			r.Fatalf("without an outage: %s", &buf)
		}
		d.away.Store(true)
		pass(150 * time.Second)
		d.away.Store(false)
		pass(time.Minute)
		var got []string
		for line := range strings.Lines(buf.String()) {
			_, msg, _ := strings.Cut(line, "msg=")
			got = append(got, strings.Join(strings.Fields(msg)[:3], " "))
		}
		want := `"queue upkeep fails|"queue upkeep still|"queue upkeep still|"queue upkeep works`
		if strings.Join(got, "|") != want {
			r.Errorf("logged %d lines:\n%s", len(got), &buf)
		}
	})
}

package triage_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

// distant is an engine whose store may be away.
type distant struct {
	*queue.Engine
	away atomic.Bool
}

func (d *distant) Marks() queue.Marks { return distantMarks{d.Engine.Marks(), &d.away} }

type marks = queue.Marks

type distantMarks struct {
	marks
	away *atomic.Bool
}

func (m distantMarks) Marks(ctx context.Context, prefix string) ([]queue.Mark, error) {
	if m.away.Load() {
		return nil, errors.New("the store is away")
	}
	return m.marks.Marks(ctx, prefix)
}

// An outage of the store is told when it begins, once a minute, and when it ends.
func TestAnOutageIsNoFlood(t *testing.T) {
	test(t, nil, func(r *rig) {
		var buf bytes.Buffer // read when nobody writes
		d := &distant{Engine: r.engine}
		service, err := triage.New(triage.Config{Queue: d, Log: slog.New(slog.NewTextHandler(&buf, nil))})
		if err != nil {
			r.Fatal(err)
		}
		stop := r.run(service.Run)
		r.pass(time.Minute)
		d.away.Store(true)
		r.pass(90 * time.Second)
		d.away.Store(false)
		r.pass(time.Minute)
		stop()
		var got []string
		for line := range strings.Lines(buf.String()) {
			_, msg, _ := strings.Cut(line, "msg=")
			got = append(got, strings.Join(strings.Fields(msg)[:2], " "))
		}
		if want := `"triage fails|"triage still|"triage works`; strings.Join(got, "|") != want {
			r.Errorf("logged %d lines:\n%s", len(got), &buf)
		}
	})
}

package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/outbox"
)

// slowSink takes a time to close.
type slowSink struct {
	took time.Duration
	err  error
}

func (slowSink) Send(context.Context, []outbox.Record) []error { return nil }

func (s slowSink) Close() error {
	time.Sleep(s.took)
	return s.err
}

// Sinks close beside each other; one that hangs does not keep the process.
func TestClosingSinks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sinks []slowSink
		takes time.Duration
		says  string
	}{
		"none":              {nil, 0, ""},
		"beside each other": {[]slowSink{{2 * time.Second, nil}, {2 * time.Second, nil}, {2 * time.Second, nil}}, 2 * time.Second, ""},
		"one that fails":    {[]slowSink{{0, errors.New("broken pipe")}}, 0, "broken pipe"},
		"one that hangs":    {[]slowSink{{0, nil}, {time.Hour, nil}}, closeFor, "sinks are still closing"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				var all []outbox.Route
				for _, s := range test.sinks {
					all = append(all, outbox.Route{Name: "sink", Sink: s})
				}
				began := time.Now()
				closeSinks(all, slog.New(slog.NewTextHandler(&log, nil)))
				if took := time.Since(began); took != test.takes || !strings.Contains(log.String(), test.says) || test.says == "" && log.Len() > 0 {
					t.Errorf("it took %v, and said %q", took, &log)
				}
				time.Sleep(2 * time.Hour) // for the one that hangs
			})
		})
	}
}

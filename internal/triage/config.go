package triage

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/errlog"
	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/queue"
)

// Config sets a [Service] up. Only Queue is required.
type Config struct {
	Queue   Queue    // *queue.Engine
	Sources []Source // dead letters that are in no queue
	// PollEvery is how often Run looks for news; default 500 ms. While no task is under way and no other process
	// uses the store, Run looks every ten seconds.
	PollEvery time.Duration
	// Now is for what people read: when a plan was made, how long a task will
	// take. What is decided by time is decided by the store's clock. Default
	// time.Now.
	Now func() time.Time
	// Log says what went wrong in the background; nil discards it.
	Log *slog.Logger
}

func (c Config) Validate() error {
	var errs faults.List
	errs.If(c.Queue == nil, "Queue: is missing")
	errs.If(c.PollEvery < 0 || c.PollEvery > time.Minute, "PollEvery: %v is not within 0 to 1m", c.PollEvery)
	return errors.Join(append(errs, checkSources(c.Sources))...)
}

func checkSources(sources []Source) error {
	var errs faults.List
	seen := map[string]bool{}
	for i, s := range sources {
		name := s.Name()
		errs.If(!strings.Contains(name, ":") || seen[name], "Sources[%d]: the name %.100q has no colon, or is there twice", i, name)
		seen[name] = true
	}
	return errors.Join(errs...)
}

// SetSources replaces those of the Config. A task on a source that is not there
// any more fails.
func (svc *Service) SetSources(sources []Source) error {
	if err := checkSources(sources); err != nil {
		return fmt.Errorf("change what dead letters come from: %w", err)
	}
	svc.sources.Store(&sources)
	svc.hurry() // a task may wait for one of them
	return nil
}

// Service is where people deal with dead letters. Many may share one store, each in
// its own process. All methods are safe for concurrent use.
type Service struct {
	config Config
	id     string // of this service among those that share the store
	secret redact.Names
	kick   chan struct{}   // Run has work
	errlog *errlog.Limiter // in the background

	sources atomic.Pointer[[]Source]
}

// New returns a service. Someone has to Run it.
func New(c Config) (*Service, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("set up triage: %w", err)
	}
	c.PollEvery = cmp.Or(c.PollEvery, 500*time.Millisecond)
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	d := &Service{
		config: c, id: newID("triage"), secret: redact.NewNames(nil),
		kick: make(chan struct{}, 1), errlog: errlog.New(errlog.Config{Log: c.Log, What: "triage"}),
	}
	d.sources.Store(&c.Sources)
	return d, nil
}

// Marks are the facts that all processes share: what watches over dead letters
// keeps its own there.
func (svc *Service) Marks() queue.Marks { return svc.config.Queue.Marks() }

// pause waits, or says why it did not.
func pause(ctx context.Context, t time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(t):
		return nil
	}
}

func newID(kind string) string {
	var b [8]byte
	rand.Read(b[:])
	return kind + "-" + hex.EncodeToString(b[:])
}

// isID reports whether newID may have made id, so that no other mark is read.
func isID(kind, id string) bool {
	digits, ok := strings.CutPrefix(id, kind+"-")
	raw, err := hex.DecodeString(digits)
	return ok && err == nil && len(raw) == 8
}

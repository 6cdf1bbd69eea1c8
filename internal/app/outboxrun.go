package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/health"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/outbox/cdc"
	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb"
	"github.com/bezoar-dev/bezoar/internal/outbox/outboxletters"
	"github.com/bezoar-dev/bezoar/internal/outbox/outboxqueue"
	"github.com/bezoar-dev/bezoar/internal/outbox/sinks"
	"github.com/bezoar-dev/bezoar/outbox"
)

// outboxRun is one outbox that this process delivers, as long as its settings stay the same.
type outboxRun struct {
	app      *App
	name     string
	cfg      config.Outbox
	database string // its URL
	letters  *outboxletters.Source

	mu     sync.Mutex // guards the rest
	store  outbox.Store
	relay  *outbox.Relay
	away   error        // why there is no store or relay
	since  time.Time    // of away
	slots  *cdc.Report  // nil: not read
	tables *cdc.Capture // nil: none runs

	asking sync.Mutex // guards what follows; held during a question to the database
	known  outbox.Status
	read   time.Time // when known was
	unread error     // why known could not be read
}

func (r *outboxRun) same(c config.Outbox) bool { return reflect.DeepEqual(r.cfg, c) }

func (r *outboxRun) kind() string { return outboxdb.Kind(r.database) }

// How long an outbox waits if its database is away, or has no tables yet.
const (
	firstWait = time.Second
	longWait  = 30 * time.Second
)

// Run delivers events until ctx ends. If a database or a sink is away, Run waits for it while the rest of the process goes
// on.
func (r *outboxRun) Run(ctx context.Context) error {
	for wait := firstWait; ; wait = min(2*wait, longWait) {
		began := time.Now()
		err := r.once(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > longWait {
			wait = firstWait
		}
		r.lacks(err)
		r.app.log.Error("an outbox is not delivered; it is tried again", "outbox", r.name, "in", wait, "err", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// once delivers until an error occurs.
func (r *outboxRun) once(ctx context.Context) (err error) {
	store, err := outboxdb.Open(ctx, r.database, outboxdb.Config{Schema: r.cfg.Schema})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	routes, closing, err := r.routes(ctx)
	defer closing()
	if err != nil {
		return err
	}
	id, err := store.Identity(ctx)
	if err != nil {
		return err
	}
	feed, err := r.feed(id)
	if err != nil {
		return err
	}
	relay, err := outbox.New(outbox.Config{
		// Two names may lead to one outbox: then the second waits for the first.
		Name: r.name, Store: store, Owner: r.app.node + "/" + r.name, Sinks: routes, ParkAfter: r.cfg.ParkAfter, Keep: r.cfg.Keep,
		Events: r.cfg.Batch.Events, Bytes: int64(r.cfg.Batch.Bytes), Wake: r.cfg.Notify, Feed: feed, Log: r.app.log,
	})
	if err != nil {
		return err
	}
	end, err := r.beside(ctx, id)
	if err != nil {
		return err
	}
	defer end()
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { watchDatabase(ctx, store, cancel) })
	defer watch.Wait()
	defer cancel(nil)
	r.has(store, relay)
	defer r.has(nil, nil)
	r.app.log.Info("delivers an outbox", "outbox", r.name, "database", r.kind(), "sinks", len(routes))
	if err := relay.Run(ctx); err != nil {
		return err
	}
	return cmp.Or(context.Cause(ctx), errors.New("the relay has ended"))
}

// watchDatabase calls cancel when the open file is no longer the database.
func watchDatabase(ctx context.Context, store outbox.Store, cancel context.CancelCauseFunc) {
	m, ok := store.(interface{ Moved() error })
	if !ok {
		return
	}
	for ctx.Err() == nil {
		if err := m.Moved(); err != nil {
			cancel(err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// closeFor bounds the time for closing sinks.
const closeFor = 3 * time.Second

// closeSinks closes all sinks at once, and waits for a time. Slower connections end by their own timeouts.
func closeSinks(all []outbox.Route, log *slog.Logger) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var wg sync.WaitGroup
		for _, one := range all {
			wg.Go(func() {
				if err := one.Sink.Close(); err != nil {
					log.Warn("closing a sink", "sink", one.Name, "err", err)
				}
			})
		}
		wg.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(closeFor):
		log.Warn("sinks are still closing", "after", closeFor)
	}
}

// routes opens the sinks.
func (r *outboxRun) routes(ctx context.Context) (all []outbox.Route, closing func(), err error) {
	closing = func() { closeSinks(all, r.app.log.With("outbox", r.name)) }
	for i, s := range r.cfg.Sinks {
		sink, err := r.sink(ctx, s.To)
		if err != nil {
			return all, closing, fmt.Errorf("outbox.%s.sinks[%d].to: %w", r.name, i, err)
		}
		all = append(all, outbox.Route{Name: sinks.Name(s.To), Topics: s.Topics, Sink: sink})
	}
	return all, closing, nil
}

// sink opens a sink. A queue in the outbox's own database gets each event exactly once.
func (r *outboxRun) sink(ctx context.Context, to string) (outbox.Sink, error) {
	open := func(q outboxqueue.Queue) (outbox.Sink, error) {
		return sinks.Open(ctx, to, sinks.Options{Source: "/outbox/" + r.name, Queue: q, Getenv: os.Getenv})
	}
	if in := r.app.stores.In; in != nil && strings.HasPrefix(to, "queue:") {
		return outboxqueue.New(r.app.queues, place(in), open)
	}
	return open(r.app.queues)
}

// place reports whether a transaction is in the queues' store.
type place func(ctx context.Context, tx any) (bool, error)

func (p place) In(ctx context.Context, tx any) (bool, error) { return p(ctx, tx) }

// has records what is open; nil: nothing is.
func (r *outboxRun) has(s outbox.Store, relay *outbox.Relay) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.store, r.relay = s, relay
	if s != nil {
		r.away = nil
	}
}

// lacks records why nothing is delivered.
func (r *outboxRun) lacks(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away == nil {
		r.since = time.Now()
	}
	r.away = err
}

// open opens the outbox's database.
func (r *outboxRun) open() (outbox.Store, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.store != nil:
		return r.store, nil
	case r.away != nil:
		return nil, r.away
	}
	return nil, notOpen()
}

// stats returns the relay's statistics. Without a relay it returns an alarm with the reason.
func (r *outboxRun) stats() outbox.Stats {
	r.mu.Lock()
	relay, away, since, slots, tables := r.relay, r.away, r.since, r.slots, r.tables
	r.mu.Unlock()
	switch {
	case relay != nil:
		st := relay.Stats()
		st.Alarms = append(st.Alarms, slotAlarms(slots, tables)...)
		return st
	case away != nil:
		return outbox.Stats{Alarms: []outbox.Alarm{{Kind: "database", What: away.Error(), Since: since}}}
	}
	return outbox.Stats{}
}

// statusFor is how long a status is cached for metrics and pages.
const statusFor = 2 * time.Second

// status reads what waits, or returns the cached status.
func (r *outboxRun) status(ctx context.Context) (outbox.Status, error) {
	store, err := r.open()
	if err != nil {
		return outbox.Status{}, err
	}
	r.asking.Lock()
	defer r.asking.Unlock()
	if time.Since(r.read) < statusFor {
		return r.known, r.unread
	}
	ctx, cancel := context.WithTimeout(ctx, outboxPatience)
	defer cancel()
	r.known, r.unread = store.Status(ctx)
	r.read = time.Now()
	return r.known, r.unread
}

// look checks the outbox's health.
func (r *outboxRun) look(context.Context) error {
	var bad, ill []string
	for _, a := range r.stats().Alarms {
		switch a.Kind {
		case "database", "no-owner", "no-progress":
			bad = append(bad, a.What)
		default:
			ill = append(ill, a.What)
		}
	}
	switch {
	case len(bad) > 0:
		return errors.New(strings.Join(append(bad, ill...), "; "))
	case len(ill) > 0:
		return fmt.Errorf("%w: %s", health.ErrDegraded, strings.Join(ill, "; "))
	}
	return nil
}

package outboxdemo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb"
	"github.com/bezoar-dev/bezoar/outbox"
)

// relay delivers the events of the outbox until ctx ends.
func (t task) relay(ctx context.Context) error {
	store, err := outboxdb.Open(ctx, t.Database, outboxdb.Config{Schema: t.Schema})
	if err != nil {
		return err
	}
	r, err := outbox.New(outbox.Config{
		Name: "demo", Store: store, Owner: "demo", Lease: time.Second, Events: batch,
		Sinks: []outbox.Route{{Name: "place", Topics: []string{topic}, Sink: &placeSink{task: t, to: sender{url: t.Place}}}},
	})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	return errors.Join(r.Run(ctx), store.Close())
}

// batch is the number of events that the relay sends at once. After a crash it sends the
// events of the batch one by one.
const batch = 50

// placeSink sends events to the receiver, and crashes at the chosen point.
type placeSink struct {
	task
	to   sender
	sent int
}

// Send implements [outbox.Sink]. A topic has one batch at a time.
func (s *placeSink) Send(ctx context.Context, records []outbox.Record) []error {
	events, results := make([]event, len(records)), make([]error, len(records))
	for i, r := range records {
		var body struct{ Order int }
		if err := json.Unmarshal(r.Payload, &body); err != nil {
			results[i] = err
			return results
		}
		events[i] = event{ID: r.ID, Order: body.Order, Customer: r.Key}
	}
	s.sent += len(events)
	due := s.Crash > 0 && s.sent >= s.Crash
	if due && s.Point == Unsent {
		dies()
	}
	half := len(events) / 2
	for _, some := range [][]event{events[:half], events[half:]} {
		if err := s.to.send(ctx, some...); err != nil {
			for i := range results {
				results[i] = err
			}
			return results
		}
		if due && s.Point == Half {
			dies()
		}
	}
	if due && s.Point == Acknowledged {
		dies()
	}
	return results
}

// Close implements [outbox.Sink].
func (s *placeSink) Close() error { return nil }

// sellAndRelay runs the application and the relay in parallel until all orders were
// requested and all events have arrived.
func (c Config) sellAndRelay(ctx context.Context, t task, p *place, g *ground) (crashes, relayCrashes int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var relayErr error
	relaying, over := context.WithCancel(ctx)
	wg.Go(func() {
		relayCrashes, relayErr = c.keepRelaying(relaying, t)
		if relayErr != nil {
			cancel()
		}
	})
	crashes, err = c.sell(ctx, t)
	if err == nil {
		err = g.arrived(ctx, p)
	}
	over()
	wg.Wait()
	if relayErr != nil {
		err = fmt.Errorf("relay: %w", relayErr)
	}
	return crashes, relayCrashes, err
}

// keepRelaying starts a relay, and a new one after each crash, until ctx ends.
func (c Config) keepRelaying(ctx context.Context, t task) (crashes int, err error) {
	most := max(len(relayPoints()), c.Crashes/3)
	t.Relay = true
	for {
		t.Crash, t.Point = 0, ""
		if crashes < most {
			t.Crash, t.Point = max(1, c.Orders/(most+2)), relayPoints()[crashes%len(relayPoints())]
		}
		killed, err := c.run(ctx, t)
		switch {
		case ctx.Err() != nil:
			return crashes, nil
		case err != nil:
			return crashes, err
		case !killed:
			return crashes, errors.New("the relay exited without a crash")
		}
		crashes++
	}
}

// slowest limits the time without a new event while events are missing.
const slowest = time.Minute

// arrived waits until every written order has an event and the relay has recorded
// its delivery. Events whose delivery a crash kept from being recorded have come
// again by then.
func (g *ground) arrived(ctx context.Context, p *place) error {
	var orders int
	if err := g.db.QueryRowContext(ctx, countOrders).Scan(&orders); err != nil {
		return fmt.Errorf("count the orders: %w", err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	last, at := p.known(), time.Now()
	for ; last < orders || g.left(ctx) > 0; last = p.known() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if now := p.known(); now > last {
			at = time.Now()
		} else if time.Since(at) > slowest {
			return nil // the report counts the lost events
		}
	}
	return nil
}

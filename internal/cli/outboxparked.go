package cli

import (
	"context"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/outbox"
)

// pickedEvents holds the flags that select events.
type pickedEvents struct {
	Topic      string        `short:"t" placeholder:"TOPIC" help:"Only events of this topic."`
	Key        string        `short:"k" placeholder:"KEY" help:"Only events of this key."`
	Class      string        `placeholder:"CLASS" offer:"transient,throttled,outage,invalid,bug,lost" help:"Only events whose last failure has this class, such as invalid, or lost if the relay died."`
	WithReason string        `placeholder:"TEXT" help:"Only events whose reason contains this text."`
	Since      time.Duration `placeholder:"TIME" help:"Only events that were parked within this time, such as 2h."`
	Before     time.Duration `placeholder:"TIME" help:"Only events that were parked longer ago than this."`
}

func (p *pickedEvents) empty() bool { return *p == pickedEvents{} }

// takes reports whether the event is selected. The database has checked topic and key.
func (p *pickedEvents) takes(w *outbox.Waiting, now time.Time) bool {
	var e outbox.Evidence
	if w.Evidence != nil {
		e = *w.Evidence
	}
	switch {
	case p.Class != "" && !strings.EqualFold(p.Class, e.Class),
		p.WithReason != "" && !strings.Contains(e.Reason, p.WithReason),
		p.Since > 0 && w.Parked.Before(now.Add(-p.Since)),
		p.Before > 0 && w.Parked.After(now.Add(-p.Before)):
		return false
	}
	return true
}

// eventPage is how many events are read at once.
const eventPage = 1000

// each calls do with every parked event that is selected, until it returns false.
func (p *pickedEvents) each(ctx context.Context, store outbox.Store, now time.Time, do func(w *outbox.Waiting) bool) error {
	q := outbox.Query{State: outbox.Parked, Topic: p.Topic, Key: p.Key, Limit: eventPage, Bare: true}
	for {
		page, err := store.Waiting(ctx, q)
		if err != nil {
			return err
		}
		for i := range page {
			if p.takes(&page[i], now) && !do(&page[i]) {
				return nil
			}
		}
		if len(page) < eventPage {
			return nil
		}
		q.After = page[len(page)-1].Position
	}
}

type outboxParked struct {
	outboxAt
	pickedEvents
	Limit int `short:"n" default:"100" placeholder:"N" help:"At most this many, up to 10000 (default ${default})."`
}

// Run lists parked events.
func (c *outboxParked) Run(s *session) error {
	const most = 10_000
	if c.Limit < 1 || c.Limit > most {
		return exitf(exitUsage, "--limit is %d, want 1 to %d", c.Limit, most)
	}
	return c.with(s, func(_ where, store outbox.Store) error {
		events, more := []adminapi.OutboxEvent{}, false
		err := c.each(s, store, s.now(), func(w *outbox.Waiting) bool {
			if more = len(events) == c.Limit; more {
				return false
			}
			events = append(events, adminapi.NewOutboxEvent(w))
			return true
		})
		err = s.list(map[string]any{"events": events, "more": more}, len(events), err, listing{
			none: "no parked events",
			head: []string{"ID", "TOPIC", "KEY", "PARKED", ">ATTEMPTS", ">BEHIND", "CLASS", "REASON"},
			row: func(now time.Time, i int) []cell {
				e := events[i]
				var why outbox.Evidence
				if e.Evidence != nil {
					why = *e.Evidence
				}
				return []cell{
					plain(e.ID), plain(e.Topic), plain(cut(e.Key, 40)), plain(ago(now, e.Parked)), number(int64(e.Attempts)), number(e.Behind),
					plain(why.Class), plain(why.Reason),
				}
			},
		})
		if err == nil && !s.json && more {
			s.say("there are more: --limit shows them")
		}
		return err
	})
}

type outboxShow struct {
	outboxAt
	ID   string `arg:"" help:"The event's ID."`
	Body bool   `help:"Print the payload alone, as it is."`
}

func (c *outboxShow) Run(s *session) error {
	return c.with(s, func(_ where, store outbox.Store) error {
		w, err := store.Find(s, c.ID)
		if err == nil && c.Body {
			_, err := s.Stdout.Write(w.Payload)
			return err
		}
		return s.show(adminapi.WholeOutboxEvent(&w), notWaiting(c.ID, err), func() { reportEvent(s, &w) })
	})
}

func reportEvent(s *session, w *outbox.Waiting) {
	now := s.now()
	e := adminapi.WholeOutboxEvent(w)
	style := yellow
	if e.State == outbox.Parked {
		style = red
	}
	s.out.printf("%s  %s\n\n", s.out.paint(bold, clean(e.ID)), s.out.paint(style, string(e.State)))
	fact := func(name, text string) {
		if text != "" {
			s.out.printf("  %-10s %s\n", name, text)
		}
	}
	fact("topic", clean(e.Topic))
	fact("key", clean(e.Key))
	fact("type", clean(e.Type))
	fact("written", clock(now, e.Written)+", "+ago(now, e.Written))
	fact("attempts", count(int64(e.Attempts), "attempt", "attempts")+", of which "+count(int64(e.Blamed), "counts", "count")+" against the event")
	if !e.Parked.IsZero() {
		fact("parked", ago(now, e.Parked))
	}
	if !e.NotBefore.IsZero() {
		fact("next try", until(now, e.NotBefore))
	}
	if e.Behind > 0 {
		fact("behind", count(e.Behind, "event of its key waits for it", "events of its key wait for it"))
	}
	if v := e.Evidence; v != nil {
		fact("failure", clean(v.Class)+": "+clean(v.Reason))
		fact("at", clock(now, v.Time)+" by "+clean(v.Relay)+", sink "+clean(v.Sink))
	}
	for _, name := range sortedNames(e.Headers) {
		fact("header", clean(name)+": "+clean(e.Headers[name]))
	}
	s.out.printf("\n")
	if e.Payload.Text == nil {
		s.out.printf("  %s; --body prints them\n", count(int64(e.Payload.Bytes), "byte that is not text", "bytes that are not text"))
		return
	}
	for line := range strings.Lines(*e.Payload.Text) {
		s.out.printf("  %s\n", clean(strings.TrimSuffix(line, "\n")))
	}
}

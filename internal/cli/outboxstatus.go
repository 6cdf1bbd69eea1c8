package cli

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/outbox"
)

type outboxStatus struct{ outboxAt }

// Run shows what waits.
func (c *outboxStatus) Run(s *session) error {
	return c.with(s, func(w where, store outbox.Store) error {
		st, err := store.Status(s)
		if err != nil {
			return err
		}
		o := adminapi.NewOutbox(w.name, w.kind(), st)
		if n, ok := store.(outbox.Notebook); ok { // otherwise only the relay's process knows its sinks
			stats, at, err := n.Noted(s)
			if err != nil {
				return err
			}
			if !at.IsZero() {
				noted(&o, stats)
			}
		}
		return s.show(o, nil, func() { reportOutbox(s, o, st.Now) })
	})
}

// noted adds what the relay has written down, unless another relay wrote it.
func noted(o *adminapi.Outbox, stats outbox.Stats) {
	if o.Relay.Alive && stats.Epoch == o.Relay.Epoch {
		o.Here(stats)
		o.Relay.Here = false
	}
}

// reportOutbox prints an outbox. now is the time of the database.
func reportOutbox(s *session, o adminapi.Outbox, now time.Time) {
	s.out.printf("%s  %s, version %d, %s\n", s.out.paint(bold, clean(o.Name)), clean(o.Database), o.Version, clean(o.ID))
	switch r := o.Relay; {
	case r.Epoch == 0:
		s.out.printf("%s\n", s.out.paint(yellow, "no relay has run yet: bezoar serve delivers the outboxes of its settings"))
	case r.Until.IsZero():
		s.out.printf("%s\n", s.out.paint(red, fmt.Sprintf("no relay: %s, epoch %d, has given up the lease", clean(r.Owner), r.Epoch)))
	case !r.Alive:
		s.out.printf("%s\n", s.out.paint(red, fmt.Sprintf("no relay: the lease of %s, epoch %d, ended %s", clean(r.Owner), r.Epoch, ago(now, r.Until))))
	default:
		s.out.printf("relay %s, epoch %d, lease until %s\n", clean(r.Owner), r.Epoch, clock(s.now(), r.Until))
	}
	for _, a := range o.Alarms {
		s.out.printf("%s %s, since %s\n", s.out.paint(red, clean(a.Kind)+":"), clean(a.What), clock(s.now(), a.Since))
	}
	for _, sink := range o.Sinks {
		if sink.Paused {
			s.out.printf("%s %s %s: %s\n", s.out.paint(yellow, "paused:"), clean(sink.Name), pausedFor(s.now(), sink.Until), clean(sink.Reason))
		}
	}
	if len(o.Topics) == 0 {
		s.out.printf("nothing waits\n")
		return
	}
	flying := map[string]int{}
	for _, f := range o.Flights {
		flying[f.Topic] += f.Events
	}
	s.out.printf("\n")
	t := table{head: []string{"TOPIC", ">READY", ">IN FLIGHT", ">RETRYING", ">PARKED", ">BEHIND", "OLDEST"}}
	for _, one := range o.Topics {
		parked := number(one.Parked)
		if one.Parked > 0 {
			parked.style = red
		}
		t.add(plain(one.Topic), number(one.Ready), number(int64(flying[one.Topic])), number(one.Retrying), parked, number(one.Behind), plain(ago(now, one.Oldest)))
	}
	t.write(s.out, "")
}

// pausedFor tells when the sink is tried again. The relay writes this every few seconds, so the time may be over.
func pausedFor(now, until time.Time) string {
	if !until.After(now) {
		return "is being tried again"
	}
	return "until " + clock(now, until)
}

type outboxVerify struct {
	outboxAt
	Topic string `placeholder:"TOPIC" help:"Only events of this topic."`
	Limit int    `short:"n" default:"100" placeholder:"N" help:"List at most this many faults (default ${default})."`
}

// Help is shown below the flags.
func (outboxVerify) Help() string {
	return "The command reads every event that is kept, delivered ones included, and checks that the events of each key are numbered without holes and in the order " +
		"in which they are delivered. Exit code 1: there are faults, which means that somebody changed the outbox's tables."
}

// Run checks the order of keys.
func (c *outboxVerify) Run(s *session) error {
	return c.with(s, func(w where, store outbox.Store) error {
		p, err := store.Verify(s, outbox.VerifyQuery{Topic: c.Topic, Limit: c.Limit})
		if err != nil {
			return err
		}
		if err := c.report(s, p); err != nil {
			return err
		}
		if n := len(p.Findings); n > 0 {
			return exitf(exitFailure, "%s: %s", w.title(), count(int64(n), "fault", "faults"))
		}
		return nil
	})
}

// inWords describes a fault.
func inWords(f outbox.Finding) string {
	switch last := f.Sequence - 1; {
	case f.Kind == "gap" && f.Sequence <= f.Expected:
		return fmt.Sprintf("number %d occurs again", f.Sequence)
	case f.Kind == "gap" && last == f.Expected:
		return fmt.Sprintf("number %d of the key is missing", last)
	case f.Kind == "gap":
		return fmt.Sprintf("numbers %d to %d of the key are missing", f.Expected, last)
	case f.Kind == "inversion":
		return fmt.Sprintf("number %d of the key is delivered before number %d", f.Sequence, f.Expected-1)
	case f.Kind == "missing":
		return "the event waits, and its row was deleted"
	}
	return ""
}

func (c *outboxVerify) report(s *session, p outbox.Proof) error {
	if len(p.Findings) == 0 && !s.json {
		s.out.printf("%s of %s: none is missing or out of order\n", count(p.Events, "event", "events"), count(p.Keys, "key", "keys"))
		return nil
	}
	doc := map[string]any{"events": p.Events, "keys": p.Keys, "findings": append([]outbox.Finding{}, p.Findings...)}
	return s.list(doc, len(p.Findings), nil, listing{
		head: []string{"FAULT", "TOPIC", "KEY", ">POSITION", "WHAT"},
		row: func(_ time.Time, i int) []cell {
			f := p.Findings[i]
			return []cell{{clean(f.Kind), red}, plain(f.Topic), plain(f.Key), number(f.Position), plain(inWords(f))}
		},
	})
}

package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/outbox"
)

func sortedNames(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// notWaiting names the event that does not wait.
func notWaiting(id string, err error) error {
	if errors.Is(err, outbox.ErrNotFound) {
		return exitf(exitNotFound, "event %.80q does not exist or is delivered", id)
	}
	return err
}

// eventVerb holds the arguments that retry and skip share.
type eventVerb struct {
	outboxAt
	IDs []string `arg:"" optional:"" name:"id" help:"The events' IDs."`
	pickedEvents
	All    bool   `help:"All parked events."`
	Reason string `placeholder:"TEXT" help:"Why, for the audit log."`
	DryRun bool   `help:"Say how many events there are, and change nothing."`
	Yes    bool   `help:"Do it. With a selection, --expect must give the number of events."`
	Expect int64  `placeholder:"N" help:"With --yes: the number of events that you expect. If it differs, nothing happens."`
}

const selectHelp = "Events are named by their IDs or selected by flags. With a selection, the command first prints how many events it has, and how to go on.\n\n"

type outboxRetry struct{ eventVerb }

// Help is shown below the flags.
func (outboxRetry) Help() string {
	return selectHelp + "A retried event goes alone. It is parked again if it fails once more in the same way park_after - 1 times.\n\n" +
		"Example: bezoar outbox retry --topic orders.paid --yes --expect 12"
}

// Run sends events again.
func (c *outboxRetry) Run(s *session) error {
	return c.run(s, "retry", "retried", func(store outbox.Store, positions []int64) (int, error) { return store.Retry(s, positions) })
}

type outboxSkip struct{ eventVerb }

// Help is shown below the flags.
func (outboxSkip) Help() string {
	return selectHelp + "A skipped event is never delivered: consumers will miss it. Those behind it go on.\n\nExample: bezoar outbox skip 018f2b6c-8d7e-7a44-9f3d-0c6a5b1d2e3f"
}

// Run discards events.
func (c *outboxSkip) Run(s *session) error {
	return c.run(s, "skip", "skipped", func(store outbox.Store, positions []int64) (int, error) { return store.Skip(s, positions) })
}

func (c *eventVerb) check() error {
	selected := c.All || !c.empty()
	switch {
	case len(c.IDs) > 0 && selected:
		return exitf(exitUsage, "name events by their IDs or select them, not both")
	case len(c.IDs) == 0 && !selected:
		return hinted(exitf(exitUsage, "name events by their IDs, or select them"), "--topic, --key, --class, --with-reason, --since, --before and --all select")
	case c.All && !c.empty():
		return exitf(exitUsage, "--all selects every event: give no other selection with it")
	case c.Yes && len(c.IDs) == 0 && c.Expect == 0:
		return hinted(exitf(exitUsage, "--yes: say with --expect how many events you mean"), "--dry-run says how many there are")
	}
	return nil
}

// changedEvents is what --json prints for retry and skip.
type changedEvents struct {
	Verb    string    `json:"verb"`
	Planned int64     `json:"planned"`
	Changed int64     `json:"changed"`
	DryRun  bool      `json:"dry_run,omitempty"`
	Failed  []failure `json:"failed,omitempty"`
}

func (c *eventVerb) run(s *session, verb, done string, do func(outbox.Store, []int64) (int, error)) error {
	if err := c.check(); err != nil {
		return err
	}
	return c.with(s, func(w where, store outbox.Store) error {
		out := changedEvents{Verb: verb, DryRun: c.DryRun}
		positions, err := c.positions(s, store, &out)
		if err != nil {
			return err
		}
		out.Planned = int64(len(positions))
		switch {
		case c.DryRun, len(c.IDs) == 0 && !c.Yes:
			return c.planned(s, out)
		case c.Expect > 0 && out.Planned != c.Expect:
			return hinted(exitf(exitPlanChanged, "there are %s, not %d: nothing was changed", count(out.Planned, "event", "events"), c.Expect), "bezoar outbox parked lists them")
		}
		for some := range slices.Chunk(positions, eventPage) {
			n, err := do(store, some)
			if err != nil {
				return err
			}
			out.Changed += int64(n)
		}
		if out.Changed > 0 {
			c.told(s, w, adminapi.OutboxDeed{Verb: verb, Events: out.Changed, Reason: c.Reason})
		}
		return c.report(s, done, out)
	})
}

func (c *eventVerb) positions(s *session, store outbox.Store, out *changedEvents) (all []int64, err error) {
	if len(c.IDs) == 0 {
		err := c.each(s, store, s.now(), func(w *outbox.Waiting) bool {
			all = append(all, w.Position)
			return true
		})
		return all, err
	}
	for _, id := range c.IDs {
		w, err := store.Find(s, id)
		if err == nil && w.State != outbox.Parked && w.State != outbox.Retrying {
			err = exitf(exitPlanChanged, "event %.80q is %s, neither parked nor retrying", id, w.State)
		}
		switch err = notWaiting(id, err); {
		case err != nil && codeOf(err) == exitFailure:
			return nil, err
		case err != nil && len(c.IDs) == 1:
			return nil, err
		case err != nil:
			s.complain(err, s.json)
			out.Failed = append(out.Failed, failure{id, err.Error()})
		case !slices.Contains(all, w.Position):
			all = append(all, w.Position)
		}
	}
	return all, nil
}

// planned prints what would happen.
func (c *eventVerb) planned(s *session, out changedEvents) error {
	if s.json {
		out.DryRun = true
		return s.out.json(out)
	}
	s.out.printf("would %s %s\n", out.Verb, count(out.Planned, "event", "events"))
	if len(c.IDs) == 0 && out.Planned > 0 {
		s.out.printf("%s the same command with --yes --expect %d\n", s.out.paint(dim, "do it:"), out.Planned)
	}
	return nil
}

func (c *eventVerb) report(s *session, done string, out changedEvents) error {
	if err := s.show(out, nil, func() { s.out.printf("%s %s\n", count(out.Changed, "event", "events"), done) }); err != nil {
		return err
	}
	switch missed := out.Planned - out.Changed + int64(len(out.Failed)); {
	case missed == 0:
		return nil
	case out.Changed == 0:
		return exitf(exitPlanChanged, "no event was %s: %s no longer parked", done, isAre(missed))
	default:
		return exitf(exitPartly, "%s not %s", count(missed, "event was", "events were"), done)
	}
}

func isAre(n int64) string {
	if n == 1 {
		return "it is"
	}
	return "they are"
}

type outboxEdit struct {
	outboxAt
	ID string `arg:"" help:"The ID of the parked event."`
	newBody
	Type    *string           `placeholder:"TYPE" help:"The new type."`
	Headers map[string]string `name:"header" short:"H" mapsep:"none" placeholder:"NAME=VALUE" help:"Set a header. May be repeated."`
	Print   bool              `help:"Print the payload, and change nothing."`
	Reason  string            `placeholder:"TEXT" help:"Why, for the audit log."`
	Stay    bool              `help:"Leave it parked; without --stay it is sent again."`
}

// Help is shown below the flags.
func (outboxEdit) Help() string {
	return "The event keeps its ID, its key and its place in the order of the key.\n\nExample: bezoar outbox edit 018f2b6c-8d7e-7a44-9f3d-0c6a5b1d2e3f --file mended.json"
}

// Run changes an event.
func (c *outboxEdit) Run(s *session) error {
	raw, err := c.read(s, outbox.MaxPayload)
	if err != nil {
		return err
	}
	if raw == nil && c.Type == nil && len(c.Headers) == 0 && !c.Print {
		return hinted(exitf(exitUsage, "nothing is changed"), "--body, --file, --type or --header change it; bezoar outbox retry sends it as it is")
	}
	return c.with(s, func(at where, store outbox.Store) error {
		w, err := store.Find(s, c.ID)
		if err != nil {
			return notWaiting(c.ID, err)
		}
		if c.Print {
			_, err := s.Stdout.Write(w.Payload)
			return err
		}
		e := outbox.Edit{Type: c.Type, Payload: raw}
		if len(c.Headers) > 0 {
			e.Headers = maps.Clone(w.Headers)
			if e.Headers == nil {
				e.Headers = map[string]string{}
			}
			maps.Copy(e.Headers, c.Headers)
		}
		if err := e.Validate(); err != nil {
			return &exitError{code: exitUsage, err: fmt.Errorf("edit event %.80q: %w", c.ID, err)}
		}
		if err := store.Edit(s, w.Position, e); err != nil {
			return fmt.Errorf("edit event %.80q: %w", c.ID, err)
		}
		c.told(s, at, adminapi.OutboxDeed{Verb: "edit", Events: 1, Reason: c.Reason})
		done := "edited"
		if !c.Stay {
			if _, err := store.Retry(s, []int64{w.Position}); err != nil {
				return fmt.Errorf("event %.80q is edited and still parked: %w", c.ID, err)
			}
			done = "edited, and sent again"
		}
		return s.show(map[string]any{"id": w.ID, "retried": !c.Stay}, nil, func() { s.out.printf("%s %s\n", clean(w.ID), done) })
	})
}

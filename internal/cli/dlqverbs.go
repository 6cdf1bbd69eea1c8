package cli

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

// bulk holds the arguments that redrive, discard and restore share.
type bulk struct {
	remote
	IDs []string `arg:"" optional:"" name:"id" help:"The letters' IDs, or unique prefixes."`
	picked
	Rate   int           `placeholder:"N" help:"Letters per second (default 50)."`
	Reason string        `placeholder:"TEXT" help:"Reason, for the audit log."`
	DryRun bool          `help:"Show what would happen, and print the ID of a plan that does exactly that. A plan is valid for an hour."`
	Plan   string        `placeholder:"ID" help:"Execute this plan."`
	Yes    bool          `help:"Start at once, without a plan. With a selection, --expect must give the number of letters."`
	Expect int64         `placeholder:"N" help:"With --yes: the number of letters that you expect. If it differs, nothing happens."`
	Wait   time.Duration `default:"1h" placeholder:"TIME" help:"Follow the task for at most this long; 0 starts it and returns (default ${default})."`
}

type dlqRedrive struct {
	bulk
	To     string `placeholder:"QUEUE" help:"Send them to this queue instead of where they came from."`
	Canary int    `placeholder:"N" help:"How many letters to send first; they must work before the rest follows (default 5 if there are more than 20)."`
	All    bool   `name:"no-canary" help:"Send all of them at once."`
	Pardon bool   `help:"First clear the payloads of these letters. Use it after a fix."`
	Halt   string `name:"halt-above" placeholder:"SHARE" help:"Halt when more than this share of the letters has failed again (default 20%)."`
}

func (c *dlqRedrive) Run(s *session) error {
	o := triage.Options{Destination: c.To, Canary: c.Canary, Pardon: c.Pardon}
	if c.All {
		o.Canary = triage.NoCanary
	}
	if c.Canary < 0 || c.All && c.Canary > 0 {
		return exitf(exitUsage, "--canary is %d, want 1 or more, or --no-canary", c.Canary)
	}
	if c.Halt != "" {
		share, err := strconv.ParseFloat(strings.TrimSuffix(c.Halt, "%"), 64)
		if err != nil || !strings.HasSuffix(c.Halt, "%") || share < 0 || share > 100 {
			return exitf(exitUsage, "--halt-above is %.20q, want a share such as 20%%", c.Halt)
		}
		if o.HaltAbove = share / 100; share == 0 {
			o.HaltAbove = triage.HaltAtFirst
		}
	}
	return c.run(s, triage.Redrive, o)
}

// requests reports whether all ids are letters of the gateway. These run in the lane at once, each with its own outcome.
func requests(ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !strings.HasPrefix(id, requestPrefix) }) && len(ids) > 0
}

// redriveRequests sends requests again and waits for the outcomes.
func redriveRequests(s *session, api *adminapi.Client, ids []string) error {
	redriven, failed := []adminapi.Redriven{}, []failure{}
	err := each(s, ids, func(id string) error {
		r, err := api.Redrive(s, id)
		if err != nil {
			failed = append(failed, failure{id, err.Error()})
			return err
		}
		redriven = append(redriven, r)
		if !s.json {
			s.out.printf("%s %s\n", clean(r.ID), outcomeText(r))
		}
		return redriveError(r)
	})
	if !s.json {
		return err
	}
	return errors.Join(s.out.json(map[string]any{"redriven": redriven, "failed": failed}), err)
}

func outcomeText(r adminapi.Redriven) string {
	text := clean(r.Outcome)
	if r.Status != 0 {
		text += fmt.Sprintf(" %d", r.Status)
	}
	if r.Reason != "" {
		text += ": " + clean(r.Reason)
	}
	return text
}

// redriveError is nil only if the request ran clean.
func redriveError(r adminapi.Redriven) error {
	code := exitFailure
	switch r.Outcome {
	case adminapi.Answered:
		return nil
	case adminapi.Refused:
		code = exitNotAllowed
	case adminapi.TimedOut:
		code = exitTimedOut
	case adminapi.Unavailable:
		code = exitUnhealthy
	}
	return exitf(code, "redrive %.40q: %s", r.ID, clean(r.Outcome))
}

type dlqDiscard struct{ bulk }

func (c *dlqDiscard) Run(s *session) error { return c.run(s, triage.Discard, triage.Options{}) }

type dlqRestore struct{ bulk }

func (c *dlqRestore) Run(s *session) error { return c.run(s, triage.Restore, triage.Options{}) }

// run executes a plan by its id, letters by their ids, or a selection, which is planned first.
func (b *bulk) run(s *session, verb triage.Verb, o triage.Options) error {
	o.Rate, o.Reason = b.Rate, b.Reason
	if err := b.check(); err != nil {
		return err
	}
	api, err := b.client(s)
	if err != nil {
		return err
	}
	defer api.Close()
	if b.Plan != "" {
		tasks, err := api.Execute(s, b.Plan)
		return b.follow(s, api, verb, tasks, err)
	}
	if verb == triage.Restore && len(b.IDs) == 0 && b.Queue == "" {
		b.Queue = queue.TrashQueue // groups are searched there
	}
	order := adminapi.Order{Verb: verb, Options: o, Expect: b.Expect}
	if order.Selection, err = b.selection(s, api); err != nil {
		return err
	}
	trash := ""
	if verb == triage.Restore {
		trash = queue.TrashQueue
	}
	for _, given := range b.IDs {
		id, err := letterIDIn(s, api, trash, given)
		if err != nil {
			return err
		}
		order.Selection.IDs = append(order.Selection.IDs, id)
	}
	if verb == triage.Redrive && !b.DryRun && requests(order.Selection.IDs) {
		if o.Pardon {
			return hinted(exitf(exitUsage, "--pardon: requests of the gateway have no payloads that a queue refuses"), "bezoar quarantine release lifts the verdict on a request")
		}
		return redriveRequests(s, api, order.Selection.IDs)
	}
	if b.DryRun || len(b.IDs) == 0 && !b.Yes {
		p, err := api.Plan(s, order)
		if err != nil {
			return err
		}
		return b.planned(s, p)
	}
	tasks, err := api.Do(s, order)
	return b.follow(s, api, verb, tasks, err)
}

func (b *bulk) check() error {
	switch {
	case b.Plan != "" && (len(b.IDs) > 0 || !b.picked.empty()):
		return exitf(exitUsage, "--plan %s: a plan names its letters, give no others", b.Plan)
	case b.Plan == "" && len(b.IDs) == 0 && b.picked.empty():
		return hinted(exitf(exitUsage, "name letters by their ids, or select them"), "--queue, --group, --class, --origin, --since, --before, --body, --attribute and --with-reason select")
	case b.Yes && len(b.IDs) == 0 && b.Expect == 0 && b.Plan == "":
		return hinted(exitf(exitUsage, "--yes: say with --expect how many letters you mean"), "--dry-run says how many there are")
	}
	return nil
}

// planned prints what would happen.
func (b *bulk) planned(s *session, p triage.Plan) error {
	if s.json {
		return s.out.json(p)
	}
	to := ""
	if len(p.Destinations) > 0 {
		to = " to " + clean(strings.Join(p.Destinations, ", "))
	}
	s.out.printf("%s would %s %s%s\n", s.out.paint(bold, p.ID), p.Verb, count(p.Count, "letter", "letters"), to)
	if p.Verb == triage.Redrive {
		canary := "no canary"
		if p.Options.Canary > 0 {
			canary = fmt.Sprintf("%d first", p.Options.Canary)
		}
		s.out.printf("  %s, %d a second, halting when more than %g%% have failed again\n", canary, p.Options.Rate, 100*p.Options.HaltAbove)
	}
	s.out.printf("\n")
	t := table{head: []string{">COUNT", "QUEUE", "GROUP", "REASON"}}
	for _, g := range p.Groups {
		t.add(number(g.Count), plain(g.Queue), plain(g.Key), plain(g.Reason))
	}
	t.write(s.out, "  ")
	if p.Others > 0 {
		s.out.printf("  and %s of other groups\n", count(p.Others, "letter", "letters"))
	}
	for _, w := range p.Warnings {
		s.out.printf("  %s %s\n", s.out.paint(yellow, "warning:"), clean(w))
	}
	s.out.printf("\n%s bezoar dlq %s --plan %s\n", s.out.paint(dim, "do it within an hour:"), p.Verb, p.ID)
	return nil
}

// follow waits for tasks and prints how they ended.
func (b *bulk) follow(s *session, api *adminapi.Client, verb triage.Verb, tasks []triage.Task, err error) error {
	if err != nil {
		return err
	}
	ended := make([]triage.Task, 0, len(tasks))
	for _, t := range tasks {
		if b.Wait > 0 {
			if t, err = watch(s, api, t, b.Wait); err != nil {
				return err
			}
		}
		ended = append(ended, t)
		if !s.json {
			s.out.printf("%s\n", taskLine(t))
		}
	}
	if s.json {
		err = s.out.json(adminapi.Tasks{Tasks: ended})
	}
	return errors.Join(err, tasksError(verb, ended))
}

// taskLine describes the state of a task in one line.
func taskLine(t triage.Task) string {
	text := fmt.Sprintf("%s %s: %d of %d moved", clean(t.ID), clean(string(t.State)), t.Moved, t.Planned)
	if t.Verb == triage.Redrive {
		text += fmt.Sprintf(", %d worked, %d failed again", t.Succeeded, t.FailedAgain)
		if t.Waiting > 0 {
			text += fmt.Sprintf(", %d still waiting", t.Waiting)
		}
	}
	if t.LeftOut > 0 {
		text += fmt.Sprintf(", %d left in the trash since edited copies took their places", t.LeftOut)
	}
	if t.Failure != "" {
		text += ": " + clean(t.Failure)
	}
	return text
}

func tasksError(verb triage.Verb, tasks []triage.Task) error {
	for _, t := range tasks {
		switch {
		case t.State == queue.MoveHalted:
			return hinted(exitf(exitPartly, "%s halted: too many failed again", verb), "bezoar dlq task %s resume goes on, cancel ends it", t.ID)
		case t.State == queue.MoveFailed && t.Succeeded > 0:
			return exitf(exitPartly, "%s failed: %s", verb, clean(t.Failure))
		case t.State == queue.MoveFailed:
			return exitf(exitFailure, "%s failed: %s", verb, clean(t.Failure))
		case t.State == queue.MoveCancelled:
			return exitf(exitPartly, "%s was cancelled", verb)
		case t.FailedAgain > 0 && t.Succeeded > 0:
			return exitf(exitPartly, "%d of %d failed again", t.FailedAgain, t.Moved)
		case t.FailedAgain > 0:
			return exitf(exitFailure, "%d of %d failed again", t.FailedAgain, t.Moved)
		}
	}
	return nil
}

// me names the acting user for the audit log.
func me(getenv func(string) string) string {
	name := getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

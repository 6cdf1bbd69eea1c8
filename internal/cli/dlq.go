package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/bezoar-dev/bezoar/internal/adminapi"
)

type dlqCmd struct {
	Ls      dlqLs      `cmd:"" help:"List dead letters, newest first."`
	Show    dlqShow    `cmd:"" help:"Show one dead letter with its request and evidence."`
	Redrive dlqRedrive `cmd:"" help:"Send dead letters again, through the lane."`
	Discard dlqDiscard `cmd:"" help:"Delete dead letters."`
}

type dlqLs struct {
	remote
	Fleet  string `placeholder:"NAME" help:"Of this fleet only."`
	Limit  int    `default:"50" placeholder:"N" help:"At most this many, up to 1000 (default ${default})."`
	Offset int    `placeholder:"N" help:"Skip the newest N."`
}

func (c *dlqLs) Run(s *session) error {
	if c.Limit < 1 || c.Limit > adminapi.MaxLetterLimit || c.Offset < 0 {
		return exitf(exitUsage, "--limit %d --offset %d: want 1 to %d, and 0 or more", c.Limit, c.Offset, adminapi.MaxLetterLimit)
	}
	api, err := c.client(s)
	if err != nil {
		return err
	}
	defer api.Close()
	letters, err := api.Letters(s, adminapi.LetterQuery{Fleet: c.Fleet, Limit: c.Limit, Offset: c.Offset})
	if err != nil {
		return err
	}
	if s.json {
		return s.out.json(adminapi.Letters{Letters: letters})
	}
	if len(letters) == 0 {
		s.say("no dead letters")
		return nil
	}
	now := s.now()
	t := table{head: []string{"ID", "CLASS", "FLEET", ">COPIES", "LAST", "VERDICT", "REQUEST"}}
	for _, l := range letters {
		t.add(plain(l.ID), plain(l.Class.String()), plain(l.Fleet), plain(fmt.Sprint(l.Copies)),
			plain(ago(now, l.Last)), plain(l.Verdict), plain(l.Request.Method+" "+l.Request.Target))
	}
	t.write(s.out, "")
	if len(letters) == c.Limit {
		s.say("perhaps more: --offset %d", c.Offset+c.Limit)
	}
	return nil
}

type dlqShow struct {
	remote
	ID   string `arg:"" help:"The letter's id, or its unique beginning."`
	Body bool   `help:"Write the request's body to stdout as it is, and nothing else."`
}

func (c *dlqShow) Run(s *session) error {
	api, err := c.client(s)
	if err != nil {
		return err
	}
	defer api.Close()
	id, err := letterID(s, api, c.ID)
	if err != nil {
		return err
	}
	l, err := api.Letter(s, id)
	if err != nil {
		return err
	}
	switch {
	case c.Body:
		if l.Request.Truncated {
			s.say("bezoar: only the first %d of %s bytes were kept", len(l.Request.Body), bodySize(l.Request.BodySize))
		}
		_, err := s.Stdout.Write(l.Request.Body)
		return err
	case s.json:
		return s.out.json(l)
	}
	reportLetter(s.out, s.now(), l)
	return nil
}

type dlqDiscard struct {
	remote
	IDs []string `arg:"" name:"id" help:"The letters' ids, or their unique beginnings."`
}

func (c *dlqDiscard) Run(s *session) error {
	api, err := c.client(s)
	if err != nil {
		return err
	}
	defer api.Close()
	return s.forEach(c.IDs, "discarded", func(given string) (string, error) {
		id, err := letterID(s, api, given)
		if err != nil {
			return "", err
		}
		return id, api.Discard(s, id)
	})
}

type dlqRedrive struct {
	remote
	IDs []string `arg:"" name:"id" help:"The letters' ids, or their unique beginnings."`
}

func (c *dlqRedrive) Run(s *session) error {
	api, err := c.client(s)
	if err != nil {
		return err
	}
	defer api.Close()
	redriven, failed := []adminapi.Redriven{}, []failure{}
	err = each(c.IDs, func(err error) { s.say("bezoar: %v", err) }, func(given string) error {
		id, err := letterID(s, api, given)
		if err != nil {
			failed = append(failed, failure{given, err.Error()})
			return err
		}
		r, err := api.Redrive(s, id)
		if err != nil {
			failed = append(failed, failure{given, err.Error()})
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

// redriveError is nil only when the work ran clean.
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

// maxPages bounds the search for a letter by the beginning of its id.
const maxPages = 20

func letterID(ctx context.Context, api *adminapi.Client, given string) (string, error) {
	return resolve(ctx, given, "dl-", "dead letter", func(ctx context.Context) ([]string, error) {
		var ids []string
		for page := range maxPages {
			letters, err := api.Letters(ctx, adminapi.LetterQuery{Limit: adminapi.MaxLetterLimit, Offset: page * adminapi.MaxLetterLimit})
			if err != nil {
				return nil, err
			}
			for _, l := range letters {
				ids = append(ids, l.ID)
			}
			if len(letters) < adminapi.MaxLetterLimit {
				break
			}
		}
		return ids, nil
	})
}

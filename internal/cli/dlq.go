package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/outbox/outboxletters"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

type dlqCmd struct {
	Groups  dlqGroups  `cmd:"" help:"Count dead letters by what failed."`
	Ls      dlqLs      `cmd:"" help:"List dead letters, newest first."`
	Show    dlqShow    `cmd:"" help:"Show one dead letter with its body and evidence."`
	Edit    dlqEdit    `cmd:"" help:"Change a dead letter and send it back, in one step."`
	Redrive dlqRedrive `cmd:"" help:"Send dead letters again: a canary first, at a bounded rate, halting by itself."`
	Discard dlqDiscard `cmd:"" help:"Move dead letters to the trash, which keeps them for seven days."`
	Restore dlqRestore `cmd:"" help:"Move dead letters from the trash back to their queue."`
	Export  dlqExport  `cmd:"" help:"Write dead letters with all their evidence to stdout, one JSON document per line."`
	Tasks   dlqTasks   `cmd:"" help:"List redrives and other tasks, newest first."`
	Task    dlqTask    `cmd:"" help:"Show, watch, pause, resume, cancel or slow a task."`
}

// picked holds the flags that select dead letters.
type picked struct {
	Queue  string        `short:"q" placeholder:"NAME" help:"Only letters in this dead-letter queue; gateway:FLEET for requests."`
	Group  []string      `short:"g" sep:"none" placeholder:"GROUP" help:"Only letters of this failure group (ID or unique prefix). May be repeated."`
	Origin string        `placeholder:"QUEUE" help:"Only letters of messages that were received from this queue."`
	Class  string        `placeholder:"CLASS" offer:"transient,throttled,outage,invalid,bug,crash,oom,timeout" help:"Only letters of this class, such as crash, oom, timeout, bug or invalid."`
	Since  time.Duration `placeholder:"TIME" help:"Only letters that died within this time, such as 2h."`
	Before time.Duration `placeholder:"TIME" help:"Only letters that died longer ago than this."`

	Body       string            `placeholder:"TEXT" help:"Only letters whose body contains this text."`
	Attribute  map[string]string `mapsep:"none" placeholder:"NAME=VALUE" help:"Only letters that have this attribute with exactly this value. May be repeated."`
	WithReason string            `placeholder:"TEXT" help:"Only letters whose reason contains this text."`
}

func (p picked) empty() bool {
	return p.Queue == "" && len(p.Group) == 0 && p.Origin == "" && p.Class == "" && p.Since == 0 && p.Before == 0 &&
		p.Body == "" && len(p.Attribute) == 0 && p.WithReason == ""
}

// selection returns the selection, with full names for groups that were given by their beginnings.
func (p picked) selection(s *session, api *adminapi.Client) (queue.Selection, error) {
	sel := queue.Selection{Queue: p.Queue, Origin: p.Origin, Class: p.Class, Body: p.Body, Attributes: p.Attribute, Reason: p.WithReason}
	if p.Since > 0 {
		sel.After = s.now().Add(-p.Since)
	}
	if p.Before > 0 {
		sel.Before = s.now().Add(-p.Before)
	}
	if len(p.Group) == 0 {
		return sel, nil
	}
	groups, err := api.DeadGroups(s, queue.Selection{Queue: p.Queue}, triage.MaxGroups)
	if err != nil {
		return sel, err
	}
	for _, given := range p.Group {
		var keys []string
		for _, g := range groups {
			if g.Key == given {
				keys = []string{g.Key}
				break
			}
			if strings.HasPrefix(g.Key, given) && !slices.Contains(keys, g.Key) {
				keys = append(keys, g.Key)
			}
		}
		switch len(keys) {
		case 0:
			return sel, hinted(exitf(exitNotFound, "no group of dead letters begins with %.80q", given), "bezoar dlq groups lists them")
		case 1:
		default:
			return sel, hinted(exitf(exitNotFound, "%d groups of dead letters begin with %.80q", len(keys), given), "bezoar dlq groups lists them")
		}
		sel.Groups = append(sel.Groups, keys[0])
	}
	return sel, nil
}

type dlqGroups struct {
	remote
	picked
	Limit int `default:"50" placeholder:"N" help:"At most this many, up to 1000 (default ${default})."`
}

func (c *dlqGroups) Run(s *session, api *adminapi.Client) error {
	if c.Limit < 1 || c.Limit > triage.MaxGroups {
		return exitf(exitUsage, "--limit is %d, want 1 to %d", c.Limit, triage.MaxGroups)
	}
	sel, err := c.selection(s, api)
	if err != nil {
		return err
	}
	groups, err := api.DeadGroups(s, sel, c.Limit)
	if err == nil && len(groups) == 0 {
		err = c.unknown(s, api)
	}
	return s.list(adminapi.DeadGroups{Groups: groups}, len(groups), err, listing{
		none: "no dead letters",
		head: []string{">COUNT", "LAST 24 H", "LAST", "FIRST", "QUEUE", "GROUP", "REASON"},
		row: func(now time.Time, i int) []cell {
			g := groups[i]
			again := ""
			if g.Redriven > 0 {
				again = fmt.Sprintf(" (%d again after a redrive)", g.Redriven)
			}
			return []cell{
				number(g.Count), plain(sparkline(g.Hours[:])), plain(ago(now, g.Last)), plain(ago(now, g.First)),
				plain(g.Queue), plain(g.Key), plain(g.Reason + again),
			}
		},
	})
}

// sparkline draws numbers as bars, relative to the largest.
func sparkline(values []int64) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	most := max(slices.Max(values), 1)
	var b strings.Builder
	for _, v := range values {
		if v == 0 {
			b.WriteRune('·')
			continue
		}
		b.WriteRune(bars[int(v*int64(len(bars)-1)/most)])
	}
	return b.String()
}

type dlqLs struct {
	remote
	picked
	Limit  int    `default:"50" placeholder:"N" help:"At most this many, up to 1000 (default ${default})."`
	Cursor string `placeholder:"CURSOR" help:"Continue after the last list, from the cursor that it printed."`
}

func (c *dlqLs) Run(s *session, api *adminapi.Client) error {
	if c.Limit < 1 || c.Limit > triage.MaxLetters {
		return exitf(exitUsage, "--limit is %d, want 1 to %d", c.Limit, triage.MaxLetters)
	}
	sel, err := c.selection(s, api)
	if err != nil {
		return err
	}
	page, err := api.Dead(s, sel, c.Cursor, c.Limit)
	if err == nil && len(page.Letters) == 0 {
		err = c.unknown(s, api)
	}
	if err == nil && !s.json {
		for _, u := range page.Unread {
			s.say("bezoar: warning: letters may be missing: %s", clean(u))
		}
	}
	err = s.list(page, len(page.Letters), err, listing{
		none: "no dead letters",
		head: []string{"ID", "CLASS", "QUEUE", ">RECEIVES", "DIED", "REASON"},
		row: func(now time.Time, i int) []cell {
			l := page.Letters[i]
			return []cell{plain(l.ID), plain(l.Class.String()), plain(l.Queue), number(int64(l.Receives)), plain(ago(now, l.Died)), plain(l.Reason)}
		},
	})
	if err == nil && !s.json && page.Next != "" {
		s.say("more: --cursor %s", page.Next)
	}
	return err
}

type dlqShow struct {
	remote
	ID   string `arg:"" help:"The letter's ID, or a unique prefix."`
	Body bool   `help:"Write only the body to stdout, unchanged."`
}

func (c *dlqShow) Run(s *session, api *adminapi.Client) error {
	id, err := letterID(s, api, c.ID)
	if err != nil {
		return err
	}
	if strings.HasPrefix(id, requestPrefix) {
		return c.request(s, api, id)
	}
	l, err := api.DeadLetter(s, id)
	if err == nil && c.Body {
		_, err := s.Stdout.Write(bodyBytes(l.Body))
		return err
	}
	return s.show(l, err, func() { reportDead(s.out, s.now(), l) })
}

// request shows a dead request of the gateway, with the evidence of its workers' deaths.
func (c *dlqShow) request(s *session, api *adminapi.Client, id string) error {
	l, err := api.Letter(s, id)
	if err == nil && c.Body {
		if l.Request.Truncated {
			s.say("bezoar: only the first %d of %s bytes were kept", len(l.Request.Body), bodySize(l.Request.BodySize))
		}
		_, err := s.Stdout.Write(l.Request.Body)
		return err
	}
	return s.show(l, err, func() { reportLetter(s.out, s.now(), l) })
}

func bodyBytes(b *triage.Body) []byte {
	switch {
	case b == nil:
		return nil
	case b.Text != nil:
		return []byte(*b.Text)
	}
	return b.Base64
}

// The prefixes of the ids of letters of the gateway, of flows and of outboxes.
const (
	requestPrefix = "dl-"
	flowPrefix    = "fl-"
	outboxPrefix  = outboxletters.IDPrefix
)

// isWholeID reports whether a letter's id is complete.
func isWholeID(id string) bool {
	for _, prefix := range []string{requestPrefix, flowPrefix} {
		if strings.HasPrefix(id, prefix) {
			return len(id) == len(prefix)+idDigits
		}
	}
	if strings.HasPrefix(id, outboxPrefix) {
		return len(id) == outboxletters.IDLength
	}
	return len(id) == fullID
}

// maxPages bounds the search for a letter by the beginning of its id.
const maxPages = 20

// fullID is the length of a message's id.
const fullID = 36

// letterID completes an id that is given by its beginning.
func letterID(ctx context.Context, api *adminapi.Client, given string) (string, error) {
	return letterIDIn(ctx, api, "", given)
}

func letterIDIn(ctx context.Context, api *adminapi.Client, queueName, given string) (string, error) {
	want := strings.ToLower(given)
	prefixes := []string{"", requestPrefix, flowPrefix, outboxPrefix}
	digits := want
	for _, prefix := range prefixes {
		digits = strings.TrimPrefix(digits, prefix)
	}
	if digits == "" || strings.Trim(digits, "0123456789abcdef-") != "" || len(want) > fullID {
		err := exitf(exitUsage, "dead letter %.60q: want an id, or its unique beginning", given)
		if strings.Contains(given, ":") { // a group has a colon behind its class
			err = hinted(err, "bezoar dlq ls --group lists the letters of a group with their ids")
		}
		return "", err
	}
	if isWholeID(want) {
		return want, nil
	}
	var found []string
	cursor := ""
	for range maxPages {
		page, err := api.Dead(ctx, queue.Selection{Queue: queueName}, cursor, triage.MaxLetters)
		if err != nil {
			return "", err
		}
		for _, l := range page.Letters {
			if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(l.ID, prefix+want) }) {
				found = append(found, l.ID)
			}
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	return oneOf(found, "dead letter", want)
}

// oneOf checks that exactly one id begins with want.
func oneOf(found []string, what, want string) (string, error) {
	slices.Sort(found)
	switch len(found) {
	case 0:
		return "", exitf(exitNotFound, "there is no %s %s", what, want)
	case 1:
		return found[0], nil
	}
	shown := strings.Join(found[:min(len(found), 5)], ", ")
	if len(found) > 5 {
		shown += fmt.Sprintf(" and %d more", len(found)-5)
	}
	return "", hinted(exitf(exitUsage, "%s %s begins %d ids", what, want, len(found)), "%s", shown)
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

type quarantineCmd struct {
	Ls      quarantineLs      `cmd:"" help:"List the verdicts on work, shapes and callers."`
	Show    quarantineShow    `cmd:"" help:"Show one verdict with its reasons and evidence."`
	Add     quarantineAdd     `cmd:"" help:"Quarantine a request by hand."`
	Release quarantineRelease `cmd:"" help:"Lift verdicts."`
}

type quarantineLs struct {
	remote
	Fleet string `placeholder:"NAME" help:"Only this fleet."`
}

func (c *quarantineLs) Run(s *session, api *adminapi.Client) error {
	verdicts, err := api.Verdicts(s, c.Fleet)
	if err == nil && len(verdicts) == 0 {
		err = s.unknownFleet(api, c.Fleet)
	}
	head := []string{"ID", "STATE", "SCOPE", "CAUSE", "FLEET", "SINCE", "UNTIL", ">REFUSED", "WORK"}
	nodes := slices.ContainsFunc(verdicts, func(v bezoar.Verdict) bool { return v.Node != "" })
	if nodes { // several nodes share their verdicts
		head = slices.Insert(head, nodeColumn, "NODE")
	}
	return s.list(adminapi.Verdicts{Verdicts: verdicts}, len(verdicts), err, listing{
		none: "there are no verdicts",
		head: head,
		row: func(now time.Time, i int) []cell {
			v := verdicts[i]
			row := []cell{
				plain(v.ID), stateCell(v.State), plain(string(v.Scope)), plain(causeOf(v)), plain(v.Fleet),
				plain(ago(now, v.Since)), plain(untilOf(now, v)), plain(fmt.Sprint(v.Refused)), plain(workOf(v)),
			}
			if nodes {
				row = slices.Insert(row, nodeColumn, plain(v.Node))
			}
			return row
		},
	})
}

const nodeColumn = 5

// causeOf describes the cause of a verdict. A verdict of an operator has no deaths.
func causeOf(v bezoar.Verdict) string {
	if v.Manual {
		return "operator"
	}
	return v.Cause.String()
}

// untilOf tells when the next copy may probe, if that applies.
func untilOf(now time.Time, v bezoar.Verdict) string {
	if v.State != bezoar.Quarantined {
		return "–"
	}
	return until(now, v.Until)
}

// workOf describes what is held, and whether that has consequences.
func workOf(v bezoar.Verdict) string {
	if v.ReportOnly {
		return adminapi.HeldText(&v) + " (its route only reports)"
	}
	return adminapi.HeldText(&v)
}

func stateCell(st bezoar.State) cell {
	style := map[bezoar.State]string{
		bezoar.Suspected: yellow, bezoar.Quarantined: red, bezoar.Probing: cyan,
		bezoar.Conditional: magenta, bezoar.Laned: magenta,
	}[st]
	return cell{clean(string(st)), style}
}

type quarantineShow struct {
	remote
	ID string `arg:"" help:"The verdict's ID, or a unique prefix."`
}

func (c *quarantineShow) Run(s *session, api *adminapi.Client) error {
	id, err := verdictID(s, api, c.ID)
	if err != nil {
		return err
	}
	v, err := api.Verdict(s, id)
	return s.show(v, err, func() { reportVerdict(s.out, s.now(), v) })
}

type quarantineAdd struct {
	remote
	Request     string        `arg:"" optional:"" help:"The request to refuse, as METHOD TARGET: 'GET /search?q=x'."`
	Header      []string      `short:"H" sep:"none" placeholder:"'NAME: VALUE'" help:"A header of the request; repeatable."`
	Body        string        `placeholder:"FILE" help:"The request's body, - for stdin."`
	Fingerprint string        `placeholder:"HEX" help:"Refuse the work with this fingerprint."`
	Variant     string        `placeholder:"HEX" help:"With --fingerprint: refuse only this variant of it."`
	Shape       string        `placeholder:"HEX" help:"Send everything of this shape through the lane."`
	Fleet       string        `placeholder:"NAME" help:"The fleet to protect; needed when there are several."`
	For         time.Duration `placeholder:"DURATION" help:"How long (default: the route's setting)."`
	Reason      string        `placeholder:"TEXT" help:"Reason, shown to refused callers."`
}

func (c *quarantineAdd) Run(s *session, api *adminapi.Client) error {
	add, err := c.build(s)
	if err != nil {
		return &exitError{code: exitUsage, err: err}
	}
	v, err := api.Add(s, add)
	return s.show(v, err, func() {
		s.out.printf("%s\n", clean(v.ID))
		s.say("%s %s in fleet %s until %s", clean(string(v.State)), clean(workOf(v)), clean(v.Fleet), clock(s.now(), v.Until))
	})
}

func (c *quarantineAdd) build(s *session) (adminapi.Add, error) {
	add := adminapi.Add{Fleet: c.Fleet, For: adminapi.Duration(c.For), Reason: c.Reason}
	ways := 0
	for _, way := range []string{c.Request, c.Fingerprint, c.Shape} {
		if way != "" {
			ways++
		}
	}
	if ways != 1 {
		return add, errors.New("give one of a request, --fingerprint and --shape")
	}
	if c.For < 0 {
		return add, fmt.Errorf("--for is %v, want a positive duration", c.For)
	}
	if len(c.Reason) > adminapi.MaxReasonLength {
		return add, fmt.Errorf("--reason: %d bytes, at most %d", len(c.Reason), adminapi.MaxReasonLength)
	}
	if c.Variant != "" && c.Fingerprint == "" {
		return add, errors.New("--variant needs the --fingerprint that it belongs to")
	}
	if c.Request == "" && (c.Body != "" || len(c.Header) > 0) {
		return add, errors.New("--body and --header describe a request, and none is given")
	}
	var err error
	switch {
	case c.Fingerprint != "":
		if add.Fingerprint, err = bezoar.ParseFingerprint(c.Fingerprint); err != nil {
			return add, fmt.Errorf("--fingerprint: %w", err)
		}
		if c.Variant == "" {
			break
		}
		if add.Variant, err = bezoar.ParseFingerprint(c.Variant); err != nil {
			return add, fmt.Errorf("--variant: %w", err)
		}
	case c.Shape != "":
		if add.Shape, err = bezoar.ParseFingerprint(c.Shape); err != nil {
			return add, fmt.Errorf("--shape: %w", err)
		}
	default:
		add.Request, err = c.request(s)
	}
	return add, err
}

// request parses 'GET /search?q=x' and adds its headers and body.
func (c *quarantineAdd) request(s *session) (*adminapi.AddRequest, error) {
	method, target, ok := strings.Cut(strings.TrimSpace(c.Request), " ")
	target = strings.TrimSpace(target)
	if !ok || strings.ToUpper(method) != method || !strings.HasPrefix(target, "/") || strings.Contains(target, " ") {
		return nil, fmt.Errorf("request %.60q: want METHOD and TARGET, such as 'GET /search?q=x'", c.Request)
	}
	r := &adminapi.AddRequest{Method: method, Target: target}
	for _, h := range c.Header {
		name, value, ok := strings.Cut(h, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !ok || name == "":
			return nil, fmt.Errorf("--header is %.60q, want 'NAME: VALUE'", h)
		case strings.EqualFold(name, "host"):
			r.Host = value
		default:
			if r.Header == nil {
				r.Header = map[string][]string{}
			}
			r.Header[name] = append(r.Header[name], value)
		}
	}
	if c.Body == "" {
		return r, nil
	}
	in, err := s.input(c.Body)
	if err != nil {
		return nil, fmt.Errorf("--body: %w", err)
	}
	defer in.Close()
	body, err := io.ReadAll(io.LimitReader(in, adminapi.MaxAddBody+1))
	if err != nil {
		return nil, fmt.Errorf("--body: %w", err)
	}
	if len(body) > adminapi.MaxAddBody {
		return nil, fmt.Errorf("--body: more than %d bytes", adminapi.MaxAddBody)
	}
	r.Body = body
	return r, nil
}

type quarantineRelease struct {
	remote
	IDs []string `arg:"" name:"id" help:"The verdicts' IDs, or unique prefixes."`
}

func (c *quarantineRelease) Run(s *session, api *adminapi.Client) error {
	return s.forEach(c.IDs, "released", func(given string) (string, error) {
		id, err := verdictID(s, api, given)
		if err != nil {
			return "", err
		}
		return id, api.Release(s, id)
	})
}

// forEach applies do to several ids, prints what was done, and goes on after failures.
func (s *session) forEach(given []string, done string, do func(string) (string, error)) error {
	ok, failed := []string{}, []failure{}
	err := each(s, given, func(g string) error {
		id, err := do(g)
		if err != nil {
			failed = append(failed, failure{g, err.Error()})
			return err
		}
		ok = append(ok, id)
		if !s.json {
			s.out.printf("%s %s\n", clean(id), done)
		}
		return nil
	})
	if !s.json {
		return err
	}
	return errors.Join(s.out.json(map[string]any{done: ok, "failed": failed}), err)
}

func verdictID(ctx context.Context, api *adminapi.Client, given string) (string, error) {
	return resolve(ctx, given, "q-", "verdict", func(ctx context.Context) ([]string, error) {
		verdicts, err := api.Verdicts(ctx, "")
		ids := make([]string, len(verdicts))
		for i, v := range verdicts {
			ids[i] = v.ID
		}
		return ids, err
	})
}

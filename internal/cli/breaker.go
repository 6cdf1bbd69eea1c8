package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

type breakerCmd struct {
	Ls    breakerLs    `cmd:"" help:"List the breakers with what they count."`
	Open  breakerOpen  `cmd:"" help:"Force a breaker open: no call passes."`
	Close breakerClose `cmd:"" help:"Force a breaker closed: every call passes, even if calls fail."`
	Reset breakerReset `cmd:"" help:"Stop forcing a breaker; it follows its results again."`
}

type breakerLs struct{ remote }

func (c *breakerLs) Run(s *session, api *adminapi.Client) error {
	all, err := api.Breakers(s)
	return s.list(adminapi.Breakers{Breakers: all}, len(all), err, listing{
		none: "no route has a circuit breaker",
		head: []string{"FLEET", "ROUTE", "STATE", "SINCE", "UNTIL", ">CALLS", ">FAILED", ">SLOW", ">IN A ROW", "WHY"},
		row: func(now time.Time, i int) []cell {
			b := all[i]
			fleet, route, _ := strings.Cut(b.Name, " ")
			n := b.Counts
			return []cell{
				plain(fleet), plain(route), circuitState(b), plain(ago(now, b.Since)), plain(until(now, b.Until)),
				number(int64(n.Calls)), number(int64(n.Failed)), number(int64(n.Slow)), number(int64(n.InARow)), plain(circuitWhy(b)),
			}
		},
	})
}

func circuitState(b circuit.Status) cell {
	text := b.State.String()
	if b.Forced != nil {
		text += ", forced"
	}
	return cell{text, map[breaker.State]string{breaker.Closed: green, breaker.HalfOpen: yellow, breaker.Open: red}[b.State]}
}

// circuitWhy gives the reasons for the state.
func circuitWhy(b circuit.Status) string {
	var parts []string
	if b.Forced != nil {
		parts = append(parts, "by "+b.Forced.By)
	}
	if b.Reason != "" {
		parts = append(parts, b.Reason)
	}
	if b.Level > 1 {
		parts = append(parts, fmt.Sprintf("%d trips in a row", b.Level))
	}
	if b.Node != "" {
		parts = append(parts, "node "+b.Node+" tries it")
	}
	if !b.Told {
		parts = append(parts, "other nodes are not told yet")
	}
	return strings.Join(parts, "; ")
}

// breakerOrder holds the arguments of open and close.
type breakerOrder struct {
	remote
	Name string        `arg:"" help:"The breaker: its fleet and route, as in 'search /search/*', or one of the two if that is enough."`
	For  time.Duration `required:"" placeholder:"DURATION" help:"How long it lasts, at most 720h."`
}

type breakerOpen struct{ breakerOrder }

func (c *breakerOpen) Run(s *session) error { return c.force(s, breaker.Open) }

type breakerClose struct{ breakerOrder }

func (c *breakerClose) Run(s *session) error { return c.force(s, breaker.Closed) }

func (c *breakerOrder) force(s *session, to breaker.State) error {
	if c.For <= 0 {
		return exitf(exitUsage, "--for is %v, want a positive duration", c.For)
	}
	return c.steer(s, c.Name, func(api *adminapi.Client, name string) (circuit.Status, error) {
		return api.ForceBreaker(s, name, adminapi.ForceBreaker{State: to, For: adminapi.Duration(c.For)})
	})
}

type breakerReset struct {
	remote
	Name string `arg:"" help:"The breaker: its fleet and route, as in 'search /search/*', or one of the two if that is enough."`
}

func (c *breakerReset) Run(s *session) error {
	return c.steer(s, c.Name, func(api *adminapi.Client, name string) (circuit.Status, error) {
		return api.ResetBreaker(s, name)
	})
}

// steer finds a breaker, applies do to it, and prints its new state.
func (r remote) steer(s *session, given string, do func(*adminapi.Client, string) (circuit.Status, error)) error {
	api, err := r.client(s)
	if err != nil {
		return err
	}
	defer api.Close()
	list, err := api.Breakers(s)
	if err != nil {
		return err
	}
	name, err := breakerName(list, given)
	if err != nil {
		return err
	}
	b, err := do(api, name)
	if err == nil && !b.Told {
		s.say("bezoar: warning: other nodes do not know it yet; they learn it when the store answers")
	}
	return s.show(b, err, func() {
		now, end := s.now(), ""
		if b.Forced != nil {
			end = fmt.Sprintf(" until %s (%s)", clock(now, b.Until), until(now, b.Until))
		}
		s.out.printf("%s is %s%s\n", clean(b.Name), circuitState(b).text, end)
	})
}

// breakerName finds the one breaker with this name, fleet or route.
func breakerName(list []circuit.Status, given string) (string, error) {
	var found []string
	for _, b := range list {
		if b.Name == given {
			return given, nil
		}
		if fleet, route, _ := strings.Cut(b.Name, " "); given == fleet || given == route {
			found = append(found, b.Name)
		}
	}
	slices.Sort(found)
	if len(found) > 1 {
		return "", hinted(exitf(exitUsage, "%s stands for %d circuit breakers: name one", clean(given), len(found)),
			"'%s'", clean(strings.Join(found[:min(len(found), 5)], "', '")))
	}
	return oneOf(found, "circuit breaker", clean(given))
}

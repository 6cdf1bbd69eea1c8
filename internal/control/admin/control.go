package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// Who identifies the maker of a call, as far as the call tells.
type Who struct {
	Name string // name given by the caller; never empty
	From string // network address
}

// String returns the actor for the audit log.
func (w Who) String() string { return w.Name + " from " + w.From }

// Steering handles operators' changes of settings, overrides and circuit breakers. Its
// errors follow the rules of [Backend], or come from package live. It writes the audit log.
type Steering interface {
	Settings
	Limiting
	Overrides
	Breakers
}

// Settings shows and changes the running settings.
type Settings interface {
	Status() live.Status // describes the running settings
	Put(ctx context.Context, who Who, in adminapi.PutSettings) (adminapi.Changed, error)
	Try(ctx context.Context, in adminapi.PutSettings) (adminapi.Tried, error) // like Put, without any change
	Rollback(ctx context.Context, who Who, to int64) (adminapi.Changed, error)
	Versions(ctx context.Context, limit int) ([]live.Version, error)
	Version(ctx context.Context, number int64) (live.Version, error)
	Diff(ctx context.Context, from, to int64) (adminapi.Diff, error)
	Compare(ctx context.Context, in adminapi.Compare) (adminapi.Diff, error)
}

// Overrides changes limits for a limited time.
type Overrides interface {
	Override(ctx context.Context, who Who, in adminapi.SetOverride) (live.Override, error)
	Lift(ctx context.Context, who Who, id string) error
}

// Breakers shows and forces circuit breakers.
type Breakers interface {
	Breakers() []circuit.Status
	// Force changes a breaker. The zero ForceBreaker ends an earlier force.
	Force(ctx context.Context, who Who, name string, in adminapi.ForceBreaker) (circuit.Status, error)
}

// who returns the maker of a call, as far as the call tells.
func who(r *http.Request) Who { return Caller(r.Header.Get(adminapi.HeaderActor), r.RemoteAddr) }

// Caller returns a Who; an empty name becomes "api".
func Caller(name, from string) Who {
	name = strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return -1
		}
		return c
	}, name)
	name = cmp.Or(name, "api")
	return Who{name[:min(len(name), 200)], from}
}

// settingsRoutes returns the handlers of the calls about settings, by pattern.
func (s *Server) settingsRoutes() map[string]handler {
	c := s.cfg.Steering
	if c == nil {
		return nil
	}
	routes := map[string]handler{
		"GET " + adminapi.PathSettings: whole(s.settings),
		"PUT " + adminapi.PathSettings: ordered(http.StatusOK, func(r *http.Request, in *adminapi.PutSettings) (any, error) {
			if err := checkText(len(in.Text), in.Base); err != nil {
				return nil, err
			}
			return c.Put(r.Context(), who(r), *in)
		}),
		"POST " + adminapi.PathTry: ordered(http.StatusOK, func(r *http.Request, in *adminapi.PutSettings) (any, error) {
			if err := checkText(len(in.Text), in.Base); err != nil {
				return nil, err
			}
			return c.Try(r.Context(), *in)
		}),
		"POST " + adminapi.PathRollback: ordered(http.StatusOK, func(r *http.Request, in *adminapi.Rollback) (any, error) {
			if in.To < 0 {
				return nil, invalid("to %d is negative", in.To)
			}
			return c.Rollback(r.Context(), who(r), in.To)
		}),
		"GET " + adminapi.PathVersions: asked(s.versions),
		"GET " + adminapi.PathVersion:  asked(func(r *http.Request) (any, error) { return s.version(r.Context(), r.PathValue("id")) }),
		"GET " + adminapi.PathDiff:     asked(s.diff),
		"POST " + adminapi.PathDiff: ordered(http.StatusOK, func(r *http.Request, in *adminapi.Compare) (any, error) {
			if in.From < 0 {
				return nil, invalid("from %d is negative", in.From)
			}
			return c.Compare(r.Context(), *in)
		}),
		"GET " + adminapi.PathOverrides: whole(func(context.Context) (any, error) {
			return adminapi.Overrides{Overrides: list(c.Status().Overrides)}, nil
		}),
		"POST " + adminapi.PathOverrides: ordered(http.StatusCreated, func(r *http.Request, in *adminapi.SetOverride) (any, error) {
			if err := checkFor(time.Duration(in.For), live.MaxOverride); err != nil {
				return nil, err
			}
			return c.Override(r.Context(), who(r), *in)
		}),
		"DELETE " + adminapi.PathOverride: done(func(r *http.Request) error { return c.Lift(r.Context(), who(r), r.PathValue("id")) }),
		"GET " + adminapi.PathGuardLimits: asked(s.guardLimits),
		"PUT " + adminapi.PathGuardLimits: ordered(http.StatusOK, s.putGuardLimits),
	}
	if s.cfg.Fixed {
		for pattern := range routes {
			routes[pattern] = fixedSettings
		}
	}
	return routes
}

// fixedSettings answers all calls about settings that cannot change.
func fixedSettings(http.ResponseWriter, *http.Request) error {
	return adminapi.NewProblem(http.StatusNotFound, adminapi.CodeFixed,
		"this process follows no settings: it was started without a file, or with live.watch: false")
}

// breakerRoutes returns the handlers of the calls about circuit breakers, by pattern.
func (s *Server) breakerRoutes() map[string]handler {
	c := s.cfg.Steering
	if c == nil {
		return nil
	}
	return map[string]handler{
		"GET " + adminapi.PathBreakers: whole(func(context.Context) (any, error) {
			return adminapi.Breakers{Breakers: list(c.Breakers())}, nil
		}),
		"PUT " + adminapi.PathForce: ordered(http.StatusOK, func(r *http.Request, in *adminapi.ForceBreaker) (any, error) {
			if in.State != breaker.Open && in.State != breaker.Closed {
				return nil, invalid("state %s is not open or closed", in.State)
			}
			if err := checkFor(time.Duration(in.For), adminapi.MaxForce); err != nil {
				return nil, err
			}
			return c.Force(r.Context(), who(r), r.PathValue("name"), *in)
		}),
		"DELETE " + adminapi.PathForce: asked(func(r *http.Request) (any, error) {
			return c.Force(r.Context(), who(r), r.PathValue("name"), adminapi.ForceBreaker{})
		}),
	}
}

func (s *Server) settings(context.Context) (any, error) {
	st := s.cfg.Steering.Status()
	st.Overrides, st.Nodes = list(st.Overrides), list(st.Nodes)
	return st, nil
}

// checkText validates a new text of settings or limits of n bytes, which was made from version base.
func checkText(n int, base *int64) error {
	if n > live.MaxText {
		return adminapi.NewProblem(http.StatusRequestEntityTooLarge, adminapi.CodeTooLarge,
			fmt.Sprintf("the text has %d bytes, more than %d", n, live.MaxText))
	}
	if base != nil && *base < 0 {
		return invalid("base %d is negative", *base)
	}
	return nil
}

func checkFor(d, most time.Duration) error {
	if d < time.Second || d > most {
		return invalid("for %v is not between 1s and %v", d, most)
	}
	return nil
}

func (s *Server) versions(r *http.Request) (any, error) {
	q := known(r, "limit")
	limit := q.number("limit", 1, live.MaxVersions)
	if q.err != nil {
		return nil, q.err
	}
	found, err := s.cfg.Steering.Versions(r.Context(), limit)
	return adminapi.Versions{Versions: list(found)}, err
}

func (s *Server) version(ctx context.Context, id string) (live.Version, error) {
	number := int64(0)
	if id != adminapi.Newest {
		var err error
		if number, err = strconv.ParseInt(id, 10, 64); err != nil || number < 1 {
			return live.Version{}, invalid("version %.40q is not a number from 1 and not %s", id, adminapi.Newest)
		}
	}
	return s.cfg.Steering.Version(ctx, number)
}

func (s *Server) diff(r *http.Request) (any, error) {
	q := known(r, "from", "to")
	from, to := q.number("from", 1, 1<<62), q.number("to", 1, 1<<62)
	if q.err != nil {
		return nil, q.err
	}
	return s.cfg.Steering.Diff(r.Context(), int64(from), int64(to))
}

// steeringProblem converts an operator error to a problem document, or returns nil for
// other errors.
func steeringProblem(err error) *adminapi.Problem {
	if bad, ok := errors.AsType[*live.InvalidError](err); ok {
		return invalidSettings(bad)
	}
	switch {
	case errors.Is(err, live.ErrNotFound):
		return adminapi.NewProblem(http.StatusNotFound, adminapi.CodeNotFound, err.Error())
	case errors.Is(err, live.ErrConflict):
		return adminapi.NewProblem(http.StatusConflict, adminapi.CodeConflict, strings.TrimPrefix(err.Error(), "put settings: "))
	case errors.Is(err, live.ErrFull):
		return adminapi.NewProblem(http.StatusConflict, adminapi.CodeFull, err.Error())
	case errors.Is(err, circuit.ErrUnknown):
		return adminapi.NewProblem(http.StatusNotFound, adminapi.CodeNotFound, err.Error())
	}
	return nil
}

func invalidSettings(bad *live.InvalidError) *adminapi.Problem {
	p := adminapi.NewProblem(http.StatusUnprocessableEntity, adminapi.CodeInvalidSettings, bad.Error())
	if f, ok := errors.AsType[*config.Faults](bad); ok {
		p.Detail = bad.What + " is invalid: 1 fault"
		if n := len(f.List) + f.More; n > 1 {
			p.Detail = fmt.Sprintf("%s is invalid: %d faults", bad.What, n)
		}
		p.Faults, p.More = f.List, f.More
	}
	return p
}

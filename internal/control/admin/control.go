package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/live"
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
	Overrides
	Breakers
}

// Settings shows and changes the running settings.
type Settings interface {
	// Status describes the running settings. It returns an error if they are fixed.
	Status() (live.Status, error)
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

// steeringRoutes returns the handlers of the operators' calls, by pattern.
func (s *Server) steeringRoutes() map[string]handler {
	if s.cfg.Steering == nil {
		return nil
	}
	return map[string]handler{
		"GET " + adminapi.PathSettings:    s.settings,
		"PUT " + adminapi.PathSettings:    s.putSettings,
		"POST " + adminapi.PathTry:        s.trySettings,
		"POST " + adminapi.PathRollback:   s.rollback,
		"GET " + adminapi.PathVersions:    s.versions,
		"GET " + adminapi.PathVersion:     s.version,
		"GET " + adminapi.PathDiff:        s.diff,
		"POST " + adminapi.PathDiff:       s.compare,
		"GET " + adminapi.PathOverrides:   s.overrides,
		"POST " + adminapi.PathOverrides:  s.setOverride,
		"DELETE " + adminapi.PathOverride: s.liftOverride,
		"GET " + adminapi.PathBreakers:    s.breakers,
		"PUT " + adminapi.PathForce:       s.forceBreaker,
		"DELETE " + adminapi.PathForce:    s.resetBreaker,
	}
}

func (s *Server) settings(w http.ResponseWriter, r *http.Request) error {
	if _, err := known(r.URL); err != nil {
		return err
	}
	st, err := s.cfg.Steering.Status()
	if err != nil {
		return err
	}
	st.Overrides, st.Nodes = list(st.Overrides), list(st.Nodes)
	return reply(w, http.StatusOK, st)
}

func (s *Server) putSettings(w http.ResponseWriter, r *http.Request) error {
	in, err := newSettings(w, r)
	if err != nil {
		return err
	}
	done, err := s.cfg.Steering.Put(r.Context(), who(r), in)
	return answer(w, http.StatusOK, done, err)
}

func (s *Server) trySettings(w http.ResponseWriter, r *http.Request) error {
	in, err := newSettings(w, r)
	if err != nil {
		return err
	}
	done, err := s.cfg.Steering.Try(r.Context(), in)
	return answer(w, http.StatusOK, done, err)
}

func newSettings(w http.ResponseWriter, r *http.Request) (in adminapi.PutSettings, err error) {
	if err := decode(w, r, &in); err != nil {
		return in, err
	}
	if n := len(in.Text); n > live.MaxText {
		return in, adminapi.NewProblem(http.StatusRequestEntityTooLarge, adminapi.CodeTooLarge,
			fmt.Sprintf("the text has %d bytes, more than %d", n, live.MaxText))
	}
	if in.Base != nil && *in.Base < 0 {
		return in, invalid("base %d is negative", *in.Base)
	}
	return in, nil
}

func (s *Server) rollback(w http.ResponseWriter, r *http.Request) error {
	var in adminapi.Rollback
	if err := decode(w, r, &in); err != nil {
		return err
	}
	if in.To < 0 {
		return invalid("to %d is negative", in.To)
	}
	done, err := s.cfg.Steering.Rollback(r.Context(), who(r), in.To)
	return answer(w, http.StatusOK, done, err)
}

func (s *Server) versions(w http.ResponseWriter, r *http.Request) error {
	q, err := known(r.URL, "limit")
	if err != nil {
		return err
	}
	limit, err := number(q, "limit", 1, live.MaxVersions)
	if err != nil {
		return err
	}
	found, err := s.cfg.Steering.Versions(r.Context(), limit)
	return answer(w, http.StatusOK, adminapi.Versions{Versions: list(found)}, err)
}

func (s *Server) version(w http.ResponseWriter, r *http.Request) error {
	number := int64(0)
	if id := r.PathValue("id"); id != adminapi.Newest {
		var err error
		if number, err = strconv.ParseInt(id, 10, 64); err != nil || number < 1 {
			return invalid("version %.40q is not a number from 1 and not %s", id, adminapi.Newest)
		}
	}
	v, err := s.cfg.Steering.Version(r.Context(), number)
	return answer(w, http.StatusOK, v, err)
}

func (s *Server) diff(w http.ResponseWriter, r *http.Request) error {
	q, err := known(r.URL, "from", "to")
	if err != nil {
		return err
	}
	from, err := number(q, "from", 1, 1<<62)
	if err != nil {
		return err
	}
	to, err := number(q, "to", 1, 1<<62)
	if err != nil {
		return err
	}
	d, err := s.cfg.Steering.Diff(r.Context(), int64(from), int64(to))
	return answer(w, http.StatusOK, d, err)
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) error {
	if _, err := known(r.URL); err != nil {
		return err
	}
	return reply(w, http.StatusOK, s.cfg.Health())
}

func (s *Server) compare(w http.ResponseWriter, r *http.Request) error {
	var in adminapi.Compare
	if err := decode(w, r, &in); err != nil {
		return err
	}
	if in.From < 0 {
		return invalid("from %d is negative", in.From)
	}
	d, err := s.cfg.Steering.Compare(r.Context(), in)
	return answer(w, http.StatusOK, d, err)
}

package admin

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

func (s *Server) overrides(w http.ResponseWriter, r *http.Request) error {
	if _, err := known(r.URL); err != nil {
		return err
	}
	st, err := s.cfg.Steering.Status()
	return answer(w, http.StatusOK, adminapi.Overrides{Overrides: list(st.Overrides)}, err)
}

func (s *Server) setOverride(w http.ResponseWriter, r *http.Request) error {
	var in adminapi.SetOverride
	if err := decode(w, r, &in); err != nil {
		return err
	}
	if err := checkFor(time.Duration(in.For), live.MaxOverride); err != nil {
		return err
	}
	o, err := s.cfg.Steering.Override(r.Context(), who(r), in)
	return answer(w, http.StatusCreated, o, err)
}

func checkFor(d, most time.Duration) error {
	if d < time.Second || d > most {
		return invalid("for %v is not between 1s and %v", d, most)
	}
	return nil
}

func (s *Server) liftOverride(w http.ResponseWriter, r *http.Request) error {
	if err := s.cfg.Steering.Lift(r.Context(), who(r), r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) breakers(w http.ResponseWriter, r *http.Request) error {
	if _, err := known(r.URL); err != nil {
		return err
	}
	return reply(w, http.StatusOK, adminapi.Breakers{Breakers: list(s.cfg.Steering.Breakers())})
}

func (s *Server) forceBreaker(w http.ResponseWriter, r *http.Request) error {
	var in adminapi.ForceBreaker
	if err := decode(w, r, &in); err != nil {
		return err
	}
	if in.State != breaker.Open && in.State != breaker.Closed {
		return invalid("state %s is not open or closed", in.State)
	}
	if err := checkFor(time.Duration(in.For), adminapi.MaxForce); err != nil {
		return err
	}
	return s.force(w, r, in)
}

func (s *Server) resetBreaker(w http.ResponseWriter, r *http.Request) error {
	return s.force(w, r, adminapi.ForceBreaker{})
}

func (s *Server) force(w http.ResponseWriter, r *http.Request, in adminapi.ForceBreaker) error {
	st, err := s.cfg.Steering.Force(r.Context(), who(r), r.PathValue("name"), in)
	return answer(w, http.StatusOK, st, err)
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

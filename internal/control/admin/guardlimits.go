package admin

import (
	"context"
	"fmt"
	"net/http"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/live"
)

// Limiting changes the limits of queries within the settings. Its errors follow the rules
// of [Steering].
type Limiting interface {
	GuardLimits(ctx context.Context, route string) (adminapi.GuardLimits, error)
	PutGuardLimits(ctx context.Context, who Who, route string, in adminapi.PutGuardLimits) (adminapi.Changed, error)
}

func (s *Server) guardLimits(w http.ResponseWriter, r *http.Request) error {
	if _, err := known(r.URL); err != nil {
		return err
	}
	l, err := s.cfg.Limiting.GuardLimits(r.Context(), r.PathValue("route"))
	if err != nil {
		return err
	}
	l.Routes = list(l.Routes)
	return reply(w, http.StatusOK, l)
}

func (s *Server) putGuardLimits(w http.ResponseWriter, r *http.Request) error {
	var in adminapi.PutGuardLimits
	if err := decode(w, r, &in); err != nil {
		return err
	}
	if !in.Fits() {
		return adminapi.NewProblem(http.StatusRequestEntityTooLarge, adminapi.CodeTooLarge,
			fmt.Sprintf("the text has %d bytes, more than %d", len(in.Text), live.MaxText))
	}
	if in.Base != nil && *in.Base < 0 {
		return invalid("base %d is negative", *in.Base)
	}
	done, err := s.cfg.Limiting.PutGuardLimits(r.Context(), who(r), r.PathValue("route"), in)
	return answer(w, http.StatusOK, done, err)
}

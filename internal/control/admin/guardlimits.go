package admin

import (
	"context"
	"net/http"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// Limiting changes the limits of queries within the settings. Its errors follow the rules
// of [Steering].
type Limiting interface {
	GuardLimits(ctx context.Context, route string) (adminapi.GuardLimits, error)
	PutGuardLimits(ctx context.Context, who Who, route string, in adminapi.PutGuardLimits) (adminapi.Changed, error)
}

func (s *Server) guardLimits(r *http.Request) (any, error) {
	if q := known(r); q.err != nil {
		return nil, q.err
	}
	l, err := s.cfg.Steering.GuardLimits(r.Context(), r.PathValue("route"))
	l.Routes = list(l.Routes)
	return l, err
}

func (s *Server) putGuardLimits(r *http.Request, in *adminapi.PutGuardLimits) (any, error) {
	if err := checkText(len(in.Text), in.Base); err != nil {
		return nil, err
	}
	return s.cfg.Steering.PutGuardLimits(r.Context(), who(r), r.PathValue("route"), *in)
}

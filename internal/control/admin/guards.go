package admin

import (
	"cmp"
	"net/http"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// listGuards returns the statistics of the routes' guards.
func (s *Server) listGuards(r *http.Request) (any, error) {
	q := known(r, "limit")
	limit := cmp.Or(q.number("limit", 1, adminapi.MaxGuardRows), adminapi.DefaultGuardRows)
	out := adminapi.Guards{Guards: []adminapi.Guard{}}
	if q.err == nil && s.cfg.Guards != nil {
		out.Guards = append(out.Guards, s.cfg.Guards(limit)...)
	}
	return out, q.err
}

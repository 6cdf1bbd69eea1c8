package admin

import (
	"cmp"
	"net/http"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// listGuards returns the statistics of the routes' guards.
func (s *Server) listGuards(w http.ResponseWriter, r *http.Request) error {
	q, err := known(r.URL, "limit")
	if err != nil {
		return err
	}
	limit, err := number(q, "limit", 1, adminapi.MaxGuardRows)
	if err != nil {
		return err
	}
	limit = cmp.Or(limit, adminapi.DefaultGuardRows)
	out := adminapi.Guards{Guards: []adminapi.Guard{}}
	if s.cfg.Guards != nil {
		out.Guards = append(out.Guards, s.cfg.Guards(limit)...)
	}
	return reply(w, http.StatusOK, out)
}

package admin

import (
	"net/http"
	"strconv"

	"github.com/bezoar-dev/bezoar/internal/adminapi"
)

// listGuards says what the guards of routes have counted.
func (s *Server) listGuards(w http.ResponseWriter, r *http.Request) error {
	limit := adminapi.DefaultGuardRows
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > adminapi.MaxGuardRows {
			return invalid("limit is %.40q, want 1 to %d", text, adminapi.MaxGuardRows)
		}
		limit = n
	}
	out := adminapi.Guards{Guards: []adminapi.Guard{}}
	if s.cfg.Guards != nil {
		out.Guards = append(out.Guards, s.cfg.Guards(limit)...)
	}
	return reply(w, http.StatusOK, out)
}

package admin

import (
	"io"
	"net/http"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// alive reports that the process answers. ready reports whether it can do its job.
func alive(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n")
}

// ready reports whether requests can be served. The reason is public, so it names fleets
// and never work.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	if err := s.backend.Ready(); err != nil {
		return adminapi.NewProblem(http.StatusServiceUnavailable, adminapi.CodeUnavailable, err.Error())
	}
	orLive(s.cfg.Readyz).ServeHTTP(w, r)
	return nil
}

func orLive(h http.Handler) http.Handler {
	if h == nil {
		return http.HandlerFunc(alive)
	}
	return h
}

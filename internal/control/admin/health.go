package admin

import (
	"io"
	"net/http"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// alive says that the process answers; whether it can do its job is ready's.
func alive(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n")
}

// ready says whether requests can be served. The reason is for everybody to
// read, so it names fleets and never work.
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

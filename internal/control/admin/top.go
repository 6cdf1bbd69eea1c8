package admin

import (
	"net/http"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

func (s *Server) listTop(w http.ResponseWriter, r *http.Request) error {
	q, err := known(r.URL, "by", "window", "limit")
	if err != nil {
		return err
	}
	in := adminapi.TopQuery{By: q.Get("by"), Window: q.Get("window")}
	if err := oneOf("by", in.By, adminapi.TopDimensions()); err != nil {
		return err
	}
	if err := oneOf("window", in.Window, []string{adminapi.LastMinute, adminapi.LastTenMinutes}); err != nil {
		return err
	}
	if in.Limit, err = number(q, "limit", 1, adminapi.MaxTop); err != nil {
		return err
	}
	return reply(w, http.StatusOK, s.cfg.Top(in))
}

// oneOf rejects a word that is not in words. An empty word is allowed.
func oneOf(name, word string, words []string) error {
	if word == "" || slices.Contains(words, word) {
		return nil
	}
	return invalid("%s %.40q: want one of %s", name, word, strings.Join(words, ", "))
}

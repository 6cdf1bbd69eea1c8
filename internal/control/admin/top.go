package admin

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

func (s *Server) listTop(r *http.Request) (any, error) {
	q := known(r, "by", "window", "limit")
	in := adminapi.TopQuery{By: q.Get("by"), Window: q.Get("window"), Limit: q.number("limit", 1, adminapi.MaxTop)}
	if q.err == nil {
		q.err = cmp.Or(oneOf("by", in.By, adminapi.TopDimensions()), oneOf("window", in.Window, []string{adminapi.LastMinute, adminapi.LastTenMinutes}))
	}
	if q.err != nil {
		return nil, q.err
	}
	return s.cfg.Top(in), nil
}

// oneOf rejects a word that is not in words. An empty word is allowed.
func oneOf(name, word string, words []string) error {
	if word == "" || slices.Contains(words, word) {
		return nil
	}
	return invalid("%s %.40q: want one of %s", name, word, strings.Join(words, ", "))
}

package admin

import (
	"net/http"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// noteOutboxDeed writes the audit log for a change that was made directly in an outbox's
// database.
func (s *Server) noteOutboxDeed(w http.ResponseWriter, r *http.Request) error {
	var d adminapi.OutboxDeed
	if err := adminapi.Decode(w, r, maxBody, &d); err != nil {
		return err
	}
	if err := oneOf("verb", d.Verb, []string{"retry", "skip", "edit", "reset"}); err != nil || d.Verb == "" {
		return invalid("verb %.40q: want retry, skip, edit or reset", d.Verb)
	}
	s.written(r, "outbox."+d.Verb, "outbox "+r.PathValue("name"), noted{Reason: d.Reason[:min(len(d.Reason), 500)], Messages: &d.Events}, nil)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

package admin

import (
	"net/http"
	"strconv"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// editMessage changes one waiting message of a queue.
func (s *Server) editMessage(w http.ResponseWriter, r *http.Request) error {
	var in adminapi.EditMessage
	if err := decode(w, r, &in); err != nil {
		return err
	}
	return s.amend(w, r, "message.edit", in.Reason, func(name string, sequence int64) (string, error) {
		if in.Body == nil && len(in.Attributes) == 0 {
			return "", invalid("body, attributes: the request contains no change")
		}
		return s.cfg.Queues.EditMessage(r.Context(), name, sequence, in)
	})
}

// deleteMessage deletes one message of a queue.
func (s *Server) deleteMessage(w http.ResponseWriter, r *http.Request) error {
	q, err := known(r.URL, "force", "reason")
	if err != nil {
		return err
	}
	force := q.Get("force")
	if force != "" && force != "true" && force != "false" {
		return invalid("force: %.20q is not true or false", force)
	}
	return s.amend(w, r, "message.delete", q.Get("reason"), func(name string, sequence int64) (string, error) {
		return s.cfg.Queues.DeleteMessage(r.Context(), name, sequence, force == "true")
	})
}

// amend runs do, writes the audit log and answers.
func (s *Server) amend(w http.ResponseWriter, r *http.Request, action, reason string, do func(name string, sequence int64) (string, error)) error {
	name, text := r.PathValue("name"), r.PathValue("seq")
	sequence, err := strconv.ParseInt(text, 10, 64)
	if err != nil || sequence < 1 {
		return invalid("sequence number: %.40q is not a valid number", text)
	}
	id, err := do(name, sequence)
	object := "queue " + name + " message " + text
	if id != "" {
		object += " " + id
	}
	s.written(r, action, object, noted{Reason: reason[:min(len(reason), 1000)]}, err)
	return answer(w, http.StatusOK, adminapi.Amended{ID: id}, err)
}

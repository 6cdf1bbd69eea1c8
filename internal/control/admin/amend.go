package admin

import (
	"net/http"
	"strconv"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// editMessage changes one waiting message of a queue.
func (s *Server) editMessage(r *http.Request, in *adminapi.EditMessage) (any, error) {
	return s.amend(r, "message.edit", in.Reason, func(name string, sequence int64) (string, error) {
		if in.Body == nil && len(in.Attributes) == 0 {
			return "", invalid("body, attributes: the request contains no change")
		}
		return s.cfg.Queues.EditMessage(r.Context(), name, sequence, *in)
	})
}

func (s *Server) deleteMessage(r *http.Request) (any, error) {
	q := known(r, "force", "reason")
	if q.err != nil {
		return nil, q.err
	}
	force := q.Get("force")
	if force != "" && force != "true" && force != "false" {
		return nil, invalid("force: %.20q is not true or false", force)
	}
	return s.amend(r, "message.delete", q.Get("reason"), func(name string, sequence int64) (string, error) {
		return s.cfg.Queues.DeleteMessage(r.Context(), name, sequence, force == "true")
	})
}

// amend runs do and writes the audit log.
func (s *Server) amend(r *http.Request, action, reason string, do func(name string, sequence int64) (string, error)) (any, error) {
	name, text := r.PathValue("name"), r.PathValue("seq")
	sequence, err := strconv.ParseInt(text, 10, 64)
	if err != nil || sequence < 1 {
		return nil, invalid("sequence number: %.40q is not a valid number", text)
	}
	id, err := do(name, sequence)
	object := "queue " + name + " message " + text
	if id != "" {
		object += " " + id
	}
	s.written(r, action, object, noted{Reason: reason[:min(len(reason), 1000)]}, err)
	return adminapi.Amended{ID: id}, err
}

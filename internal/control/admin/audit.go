package admin

import (
	"context"
	"net/http"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// noted is the detail of a call in the audit log, beside the actor, the object and the
// result.
type noted struct {
	Fleet    string            `json:"fleet,omitempty"`
	Work     string            `json:"work,omitempty"` // sample of the work
	For      adminapi.Duration `json:"for,omitempty"`
	Reason   string            `json:"reason,omitempty"`
	Outcome  string            `json:"outcome,omitempty"`  // of a redrive
	Messages *int64            `json:"messages,omitempty"` // messages in the queue
}

func about(v bezoar.Verdict) noted {
	return noted{Fleet: v.Fleet, Work: v.Sample[:min(len(v.Sample), 500)]}
}

// written writes a call or its failed attempt to the audit log. [triage.Service] and [Steering]
// write their own entries, with more detail.
func (s *Server) written(r *http.Request, action, object string, detail noted, err error) {
	if s.cfg.Audit != nil {
		s.cfg.Audit(r.Context(), who(r), action, object, detail, err)
	}
}

// deed handles a call that changes the named queue, and writes the audit log.
func (s *Server) deed(action string, do func(context.Context, string) error) handler {
	return done(func(r *http.Request) error {
		name := r.PathValue("name")
		var detail noted
		if q, err := s.cfg.Queues.Queue(r.Context(), name); err == nil {
			n := q.Visible + q.InFlight + q.Delayed
			detail.Messages = &n
		}
		err := do(r.Context(), name)
		s.written(r, action, "queue "+name, detail, err)
		return err
	})
}

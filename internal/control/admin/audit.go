package admin

import (
	"context"
	"net/http"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// noted is what the audit log keeps of a call beside who, on what and how it
// ended.
type noted struct {
	Fleet    string            `json:"fleet,omitempty"`
	Work     string            `json:"work,omitempty"` // a sample of it
	For      adminapi.Duration `json:"for,omitempty"`
	Reason   string            `json:"reason,omitempty"`
	Outcome  string            `json:"outcome,omitempty"`  // of a redrive
	Messages *int64            `json:"messages,omitempty"` // that the queue held
}

// about notes what a verdict is about.
func about(v bezoar.Verdict) noted {
	return noted{Fleet: v.Fleet, Work: v.Sample[:min(len(v.Sample), 500)]}
}

// written has the audit log say what somebody did, or tried to. The calls of
// [Triage] and [Steering] are written down there, with more detail.
func (s *Server) written(r *http.Request, action, object string, detail noted, err error) {
	if s.cfg.Audit != nil {
		s.cfg.Audit(r.Context(), who(r), action, object, detail, err)
	}
}

// deed is a call that does something to the queue it names, and is written down.
func (s *Server) deed(action string, do func(context.Context, string) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		name := r.PathValue("name")
		var detail noted
		if q, err := s.cfg.Queues.Queue(r.Context(), name); err == nil {
			n := q.Visible + q.InFlight + q.Delayed
			detail.Messages = &n
		}
		err := do(r.Context(), name)
		s.written(r, action, "queue "+name, detail, err)
		if err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}

package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/queue"
)

// Queues provides the queues that the API shows and changes. Its errors follow the rules of
// [Backend]; a queue.Code determines the status of the response.
type Queues interface {
	QueueSettings
	QueueMessages
	Payloads(ctx context.Context, name string) ([]adminapi.Payload, error)
	Pardon(ctx context.Context, name string, payload bezoar.Fingerprint) error
	Conditions(ctx context.Context) ([]adminapi.Condition, error)
	Stats() queue.Stats
}

// QueueSettings manages the queues themselves.
type QueueSettings interface {
	Queues(ctx context.Context, q queue.ListQuery) (adminapi.Queues, error)
	Queue(ctx context.Context, name string) (adminapi.Queue, error)
	CreateQueue(ctx context.Context, in adminapi.CreateQueue) (adminapi.Queue, error)
	SetQueue(ctx context.Context, name string, in adminapi.SetQueue) (adminapi.Queue, error)
	DeleteQueue(ctx context.Context, name string) error
	Purge(ctx context.Context, name string) error
	Pause(ctx context.Context, name string, p queue.Pause) error
	Resume(ctx context.Context, name string) error
}

// QueueMessages manages the messages of a queue.
type QueueMessages interface {
	Send(ctx context.Context, name string, in []adminapi.Send) ([]adminapi.Sent, error)
	SetAside(ctx context.Context, name string, in []adminapi.Part) ([]adminapi.Sent, error)
	Peek(ctx context.Context, name string, after int64, limit int) ([]adminapi.Message, error)
	EditMessage(ctx context.Context, name string, sequence int64, in adminapi.EditMessage) (id string, err error)
	DeleteMessage(ctx context.Context, name string, sequence int64, force bool) (id string, err error)
}

// queueRoutes returns the handlers of the calls about queues, by pattern.
func (s *Server) queueRoutes() map[string]handler {
	q := s.cfg.Queues
	if q == nil {
		return nil
	}
	return map[string]handler{
		"GET " + adminapi.PathQueues:  asked(s.listQueues),
		"POST " + adminapi.PathQueues: ordered(http.StatusCreated, s.createQueue),
		"GET " + adminapi.PathQueue: asked(func(r *http.Request) (any, error) {
			return q.Queue(r.Context(), r.PathValue("name"))
		}),
		"PATCH " + adminapi.PathQueue:  ordered(http.StatusOK, s.setQueue),
		"DELETE " + adminapi.PathQueue: s.deed("queue.delete", q.DeleteQueue),
		"POST " + adminapi.PathPurge:   s.deed("queue.purge", q.Purge),
		"POST " + adminapi.PathPause:   s.pauseQueue,
		"POST " + adminapi.PathResume:  s.deed("queue.resume", q.Resume),
		"GET " + adminapi.PathMessages: asked(s.peek),
		"POST " + adminapi.PathMessages: ordered(http.StatusOK, func(r *http.Request, in *adminapi.SendBatch) (any, error) {
			return sentBatch("messages", len(in.Messages), func() ([]adminapi.Sent, error) { return q.Send(r.Context(), r.PathValue("name"), in.Messages) })
		}),
		"POST " + adminapi.PathMessage:   ordered(http.StatusOK, s.editMessage),
		"DELETE " + adminapi.PathMessage: asked(s.deleteMessage),
		"POST " + adminapi.PathParts: ordered(http.StatusOK, func(r *http.Request, in *adminapi.PartBatch) (any, error) {
			return sentBatch("parts", len(in.Parts), func() ([]adminapi.Sent, error) { return q.SetAside(r.Context(), r.PathValue("name"), in.Parts) })
		}),
		"GET " + adminapi.PathPayloads: asked(func(r *http.Request) (any, error) {
			p, err := q.Payloads(r.Context(), r.PathValue("name"))
			return adminapi.Payloads{Payloads: list(p)}, err
		}),
		"DELETE " + adminapi.PathPardon: done(s.pardon),
		"GET " + adminapi.PathConditions: asked(func(r *http.Request) (any, error) {
			c, err := q.Conditions(r.Context())
			return adminapi.Conditions{Conditions: list(c)}, err
		}),
	}
}

func (s *Server) pauseQueue(w http.ResponseWriter, r *http.Request) error {
	var p queue.Pause
	if err := adminapi.Decode(w, r, maxBody, &p); err != nil {
		return err
	}
	p.By = who(r).String()
	name, detail := r.PathValue("name"), noted{Reason: p.Reason}
	if !p.Until.IsZero() {
		detail.For = adminapi.Duration(time.Until(p.Until).Round(time.Second))
	}
	err := s.cfg.Queues.Pause(r.Context(), name, p)
	s.written(r, "queue.pause", "queue "+name, detail, err)
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) listQueues(r *http.Request) (any, error) {
	q := known(r, "prefix", "after", "limit")
	limit := q.number("limit", 1, adminapi.MaxQueues)
	if q.err != nil {
		return nil, q.err
	}
	page, err := s.cfg.Queues.Queues(r.Context(), queue.ListQuery{Prefix: q.Get("prefix"), After: q.Get("after"), Limit: limit})
	page.Queues = list(page.Queues)
	return page, err
}

func (s *Server) createQueue(r *http.Request, in *adminapi.CreateQueue) (any, error) {
	q, err := s.cfg.Queues.CreateQueue(r.Context(), *in)
	s.written(r, "queue.create", "queue "+in.Name, noted{}, err)
	return q, err
}

func (s *Server) setQueue(r *http.Request, in *adminapi.SetQueue) (any, error) {
	if len(in.Attributes) == 0 {
		return nil, invalid("attributes: name the attributes to change")
	}
	name := r.PathValue("name")
	q, err := s.cfg.Queues.SetQueue(r.Context(), name, *in)
	s.written(r, "queue.set", "queue "+name, noted{}, err)
	return q, err
}

func (s *Server) peek(r *http.Request) (any, error) {
	q := known(r, "after", "limit")
	after, limit := q.number("after", 0, 1<<62), q.number("limit", 1, adminapi.MaxPeek)
	if q.err != nil {
		return nil, q.err
	}
	m, err := s.cfg.Queues.Peek(r.Context(), r.PathValue("name"), int64(after), limit)
	return adminapi.Messages{Messages: list(m)}, err
}

// sentBatch sends n messages or parts, if there are neither too few nor too many.
func sentBatch(what string, n int, send func() ([]adminapi.Sent, error)) (any, error) {
	if n < 1 || n > adminapi.MaxSendBatch {
		return nil, invalid("%s: %d is not between 1 and %d", what, n, adminapi.MaxSendBatch)
	}
	sent, err := send()
	return adminapi.SentBatch{Sent: list(sent)}, err
}

func (s *Server) pardon(r *http.Request) error {
	payload, err := bezoar.ParseFingerprint(r.PathValue("id"))
	if err != nil {
		return invalid("payload: %v", err)
	}
	name := r.PathValue("name")
	err = s.cfg.Queues.Pardon(r.Context(), name, payload)
	s.written(r, "queue.pardon", "payload "+payload.String()+" of queue "+name, noted{}, err)
	return wrap("pardon", err)
}

// queueProblem converts an error of a queue to a problem document, or returns nil for other
// errors.
func queueProblem(err error) *adminapi.Problem {
	status, code := http.StatusBadRequest, adminapi.CodeInvalid
	switch queue.CodeOf(err) {
	case "":
		return nil
	case queue.ErrQueueNotFound, queue.ErrMessageGone, queue.ErrLetterNotFound, queue.ErrMoveNotFound:
		status, code = http.StatusNotFound, adminapi.CodeNotFound
	case queue.ErrQueueExists, queue.ErrConflict, queue.ErrMoveRunning, queue.ErrMoveNotRunning, queue.ErrReceiptStale:
		status, code = http.StatusConflict, adminapi.CodeConflict
	case queue.ErrTooLarge:
		status, code = http.StatusRequestEntityTooLarge, adminapi.CodeTooLarge
	case queue.ErrNoAnswer:
		return adminapi.NewProblem(http.StatusServiceUnavailable, adminapi.CodeUnavailable, "the store does not answer: bezoar config status and the log say why")
	case queue.ErrNoSpace:
		return adminapi.NewProblem(http.StatusInsufficientStorage, adminapi.CodeUnavailable,
			"the disk of the store is full: free some space there. Messages can be received and deleted")
	}
	return adminapi.NewProblem(status, code, err.Error())
}

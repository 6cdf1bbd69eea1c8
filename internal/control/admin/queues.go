package admin

import (
	"context"
	"fmt"
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

// handler handles a call, or returns why it cannot.
type handler = func(http.ResponseWriter, *http.Request) error

// queueRoutes returns the handlers of the calls about queues, by pattern.
func (s *Server) queueRoutes() map[string]handler {
	q := s.cfg.Queues
	if q == nil {
		return nil
	}
	return map[string]handler{
		"GET " + adminapi.PathQueues:     s.listQueues,
		"POST " + adminapi.PathQueues:    s.createQueue,
		"GET " + adminapi.PathQueue:      s.showQueue,
		"PATCH " + adminapi.PathQueue:    s.setQueue,
		"DELETE " + adminapi.PathQueue:   s.deed("queue.delete", q.DeleteQueue),
		"POST " + adminapi.PathPurge:     s.deed("queue.purge", q.Purge),
		"POST " + adminapi.PathPause:     s.pauseQueue,
		"POST " + adminapi.PathResume:    s.deed("queue.resume", q.Resume),
		"GET " + adminapi.PathMessages:   s.peek,
		"POST " + adminapi.PathMessages:  s.send,
		"POST " + adminapi.PathMessage:   s.editMessage,
		"DELETE " + adminapi.PathMessage: s.deleteMessage,
		"POST " + adminapi.PathParts:     s.setAside,
		"GET " + adminapi.PathPayloads:   s.listPayloads,
		"DELETE " + adminapi.PathPardon:  s.pardon,
		"GET " + adminapi.PathConditions: s.listConditions,
	}
}

func (s *Server) pauseQueue(w http.ResponseWriter, r *http.Request) error {
	var p queue.Pause
	if err := decode(w, r, &p); err != nil {
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

func (s *Server) listQueues(w http.ResponseWriter, r *http.Request) error {
	q, err := known(r.URL, "prefix", "after", "limit")
	if err != nil {
		return err
	}
	limit, err := number(q, "limit", 1, adminapi.MaxQueues)
	if err != nil {
		return err
	}
	page, err := s.cfg.Queues.Queues(r.Context(), queue.ListQuery{Prefix: q.Get("prefix"), After: q.Get("after"), Limit: limit})
	if err != nil {
		return err
	}
	page.Queues = list(page.Queues)
	return reply(w, http.StatusOK, page)
}

func (s *Server) showQueue(w http.ResponseWriter, r *http.Request) error {
	q, err := s.cfg.Queues.Queue(r.Context(), r.PathValue("name"))
	return answer(w, http.StatusOK, q, err)
}

func (s *Server) createQueue(w http.ResponseWriter, r *http.Request) error {
	var in adminapi.CreateQueue
	if err := decode(w, r, &in); err != nil {
		return err
	}
	q, err := s.cfg.Queues.CreateQueue(r.Context(), in)
	s.written(r, "queue.create", "queue "+in.Name, noted{}, err)
	return answer(w, http.StatusCreated, q, err)
}

func (s *Server) setQueue(w http.ResponseWriter, r *http.Request) error {
	var in adminapi.SetQueue
	if err := decode(w, r, &in); err != nil {
		return err
	}
	if len(in.Attributes) == 0 {
		return adminapi.Invalid("attributes: name the attributes to change")
	}
	name := r.PathValue("name")
	q, err := s.cfg.Queues.SetQueue(r.Context(), name, in)
	s.written(r, "queue.set", "queue "+name, noted{}, err)
	return answer(w, http.StatusOK, q, err)
}

func (s *Server) peek(w http.ResponseWriter, r *http.Request) error {
	q, err := known(r.URL, "after", "limit")
	if err != nil {
		return err
	}
	after, err := number(q, "after", 0, 1<<62)
	if err != nil {
		return err
	}
	limit, err := number(q, "limit", 1, adminapi.MaxPeek)
	if err != nil {
		return err
	}
	m, err := s.cfg.Queues.Peek(r.Context(), r.PathValue("name"), int64(after), limit)
	return answer(w, http.StatusOK, adminapi.Messages{Messages: list(m)}, err)
}

func (s *Server) send(w http.ResponseWriter, r *http.Request) error {
	var in adminapi.SendBatch
	if err := decode(w, r, &in); err != nil {
		return err
	}
	if n := len(in.Messages); n < 1 || n > adminapi.MaxSendBatch {
		return invalid("messages: %d is not between 1 and %d", n, adminapi.MaxSendBatch)
	}
	sent, err := s.cfg.Queues.Send(r.Context(), r.PathValue("name"), in.Messages)
	return answer(w, http.StatusOK, adminapi.SentBatch{Sent: list(sent)}, err)
}

func (s *Server) setAside(w http.ResponseWriter, r *http.Request) error {
	var in adminapi.PartBatch
	if err := decode(w, r, &in); err != nil {
		return err
	}
	if n := len(in.Parts); n < 1 || n > adminapi.MaxSendBatch {
		return invalid("parts: %d is not between 1 and %d", n, adminapi.MaxSendBatch)
	}
	sent, err := s.cfg.Queues.SetAside(r.Context(), r.PathValue("name"), in.Parts)
	return answer(w, http.StatusOK, adminapi.SentBatch{Sent: list(sent)}, err)
}

func (s *Server) listPayloads(w http.ResponseWriter, r *http.Request) error {
	p, err := s.cfg.Queues.Payloads(r.Context(), r.PathValue("name"))
	return answer(w, http.StatusOK, adminapi.Payloads{Payloads: list(p)}, err)
}

func (s *Server) pardon(w http.ResponseWriter, r *http.Request) error {
	payload, err := bezoar.ParseFingerprint(r.PathValue("id"))
	if err != nil {
		return invalid("payload: %v", err)
	}
	name := r.PathValue("name")
	err = s.cfg.Queues.Pardon(r.Context(), name, payload)
	s.written(r, "queue.pardon", "payload "+payload.String()+" of queue "+name, noted{}, err)
	if err != nil {
		return fmt.Errorf("pardon: %w", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) listConditions(w http.ResponseWriter, r *http.Request) error {
	c, err := s.cfg.Queues.Conditions(r.Context())
	return answer(w, http.StatusOK, adminapi.Conditions{Conditions: list(c)}, err)
}

// list encodes an empty list as [] rather than null.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
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

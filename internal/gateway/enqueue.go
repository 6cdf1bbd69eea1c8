package gateway

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
)

// StatusPath begins the paths under which callers ask for the status of queued requests. A gateway with such a route
// answers them itself.
const StatusPath = "/.bezoar/requests/"

// Enqueuer puts requests on a queue, for a [Route] that answers 202.
type Enqueuer interface {
	// Enqueue stores the work durably, and returns a ticket for its status: at most 256 unreserved characters. An
	// *EnqueueError decides what the caller gets.
	Enqueue(ctx context.Context, w Enqueued) (ticket string, err error)
	// Status returns the status of the work, or ErrNoTicket.
	Status(ctx context.Context, ticket string) (Status, error)
}

// Enqueued is a request for a queue. It shares no memory with the wire.
type Enqueued struct {
	ID          string // of the request
	Method      string
	Target      string // path and query
	Host        string
	ContentType string
	Key         string // Idempotency-Key
	Body        []byte
}

// The states of enqueued work.
const (
	StateQueued  = "queued"
	StateRunning = "running"
	StateDone    = "done" // or removed, or a dead one that was sent again under another id
	StateDead    = "dead" // set aside, with the reason
)

// Status is the status of queued work.
type Status struct {
	State    string    `json:"state"`
	Queue    string    `json:"queue"`
	Attempts int       `json:"attempts"`
	Since    time.Time `json:"since,omitzero"` // when it was accepted
	Reason   string    `json:"reason,omitempty"`
}

// ErrNoTicket says that a ticket is not from this deployment, or too old.
var ErrNoTicket = errors.New("no such ticket")

// EnqueueError is a refusal that the caller can act on.
type EnqueueError struct {
	Status int    // HTTP
	Type   string // of the problem document
	Detail string
}

func (e *EnqueueError) Error() string { return e.Detail }

// enqueue puts the request on the route's queue and answers 202.
func (j *job) enqueue() {
	if !j.body.whole {
		j.notWhole()
		return
	}
	ticket, err := j.route.Enqueue.Enqueue(j.ctx, Enqueued{
		ID: strings.Clone(j.id), Method: strings.Clone(j.req.Method), Target: strings.Clone(j.req.Target), Host: strings.Clone(j.req.Host),
		ContentType: strings.Clone(j.first(h1.ContentType)), Key: strings.Clone(j.first(h1.IdempotencyKey)), Body: bytes.Clone(j.body.bytes),
	})
	if err != nil {
		j.notEnqueued(err)
		return
	}
	status := StatusPath + ticket
	j.json(http.StatusAccepted, struct {
		ID     string `json:"id"`
		State  string `json:"state"`
		Status string `json:"status_url"`
	}{j.id, StateQueued, status}, h1.Field{Name: "Location", Value: status})
}

// notWhole answers why the body could not be held.
func (j *job) notWhole() {
	j.from.Close() // the rest of the body may still come
	switch {
	case len(j.body.bytes) >= j.route.Buffer:
		j.problem(problem.Document{
			Type: "too-large", Status: http.StatusRequestEntityTooLarge,
			Detail: "The body is longer than the " + strconv.Itoa(j.route.Buffer) + " bytes that the queue accepts.",
		})
	case j.g.held.Load() > j.s.cfg.MaxBuffered:
		j.problem(problem.Document{
			Type: "unavailable", Status: http.StatusServiceUnavailable, Detail: "There is no memory for the body now, because too many others are being received.",
		}, retryAfter(time.Second))
	default:
		j.problem(problem.Document{Type: "slow", Status: http.StatusRequestTimeout, Detail: "The body did not arrive in time."})
	}
}

func (j *job) notEnqueued(err error) {
	if e, ok := errors.AsType[*EnqueueError](err); ok {
		j.problem(problem.Document{Type: e.Type, Status: e.Status, Detail: e.Detail})
		return
	}
	if j.ctx.Err() != nil {
		j.from.Abort()
		return
	}
	j.s.cfg.Log.Error("request was not enqueued", "request", j.id, "route", j.route.Name, "error", err)
	j.problem(problem.Document{
		Type: "unavailable", Status: http.StatusServiceUnavailable, Detail: "The queue cannot take the request now.",
	}, retryAfter(time.Second))
}

// status answers a question about queued work. It returns false if the path is not such a question.
func (j *job) status() bool {
	ticket, ok := strings.CutPrefix(j.req.Path, StatusPath)
	if !ok || j.s.tickets == nil {
		return false
	}
	if j.req.Method != http.MethodGet && j.req.Method != http.MethodHead {
		j.problem(problem.Document{Type: "method", Status: http.StatusMethodNotAllowed, Detail: "A status can only be read."}, h1.Field{Name: "Allow", Value: "GET, HEAD"})
		return true
	}
	s, err := j.s.tickets.Status(j.ctx, ticket)
	switch {
	case errors.Is(err, ErrNoTicket):
		j.problem(problem.Document{Type: "no-ticket", Status: http.StatusNotFound, Detail: "There is no request with this status address."})
	case err != nil:
		j.s.cfg.Log.Error("status was not read", "request", j.id, "error", err)
		j.problem(problem.Document{Type: "unavailable", Status: http.StatusServiceUnavailable, Detail: "The queue cannot be read now."}, retryAfter(time.Second))
	case s.State == StateQueued || s.State == StateRunning:
		j.json(http.StatusOK, s, retryAfter(time.Second))
	default:
		j.json(http.StatusOK, s)
	}
	return true
}

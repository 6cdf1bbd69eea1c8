package adminapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

// Paths of queues. {name} is one escaped path segment.
const (
	PathQueues     = "/api/v1/queues"                       // GET ?prefix= &after= &limit= lists, POST creates
	PathQueue      = "/api/v1/queues/{name}"                // GET, PATCH [SetQueue], DELETE
	PathMessages   = "/api/v1/queues/{name}/messages"       // GET ?after= &limit= peeks, POST sends
	PathMessage    = "/api/v1/queues/{name}/messages/{seq}" // POST [EditMessage], DELETE ?force= &reason=
	PathParts      = "/api/v1/queues/{name}/parts"          // POST sets aside parts of work
	PathPurge      = "/api/v1/queues/{name}/purge"          // POST
	PathPause      = "/api/v1/queues/{name}/pause"          // POST a queue.Pause
	PathResume     = "/api/v1/queues/{name}/resume"         // POST ends a pause
	PathPayloads   = "/api/v1/queues/{name}/payloads"       // GET lists suspected and refused payloads
	PathPardon     = "/api/v1/queues/{name}/payloads/{id}"  // DELETE
	PathConditions = "/api/v1/conditions"                   // GET paused queues and open breakers
)

// Limits of queue calls.
const (
	MaxSendBatch   = 256
	MaxPeek        = queue.MaxBatch
	MaxQueues      = 1000    // queues in one list; also the default
	MaxMessageText = 2 << 20 // bytes of one POST of messages
)

// Queue is a queue with its state.
type Queue struct {
	Name       string            `json:"name"`
	FIFO       bool              `json:"fifo"`
	Visible    int64             `json:"visible"`
	InFlight   int64             `json:"in_flight"`
	Delayed    int64             `json:"delayed"`
	Oldest     Duration          `json:"oldest"` // age of the oldest message
	DeadLetter string            `json:"dead_letter"`
	Implicit   bool              `json:"implicit_dead_letter"` // true if the settings do not name the dead-letter queue
	Receives   int               `json:"max_receive_count"`    // receives after which a message becomes a dead letter; 0: never
	Created    time.Time         `json:"created"`
	Modified   time.Time         `json:"modified"`
	Attributes map[string]string `json:"attributes"` // attributes by their SQS names
	Tags       map[string]string `json:"tags,omitempty"`
	State      string            `json:"state"` // "ok", or the reason why nothing is delivered
}

// Queues is a list of queues, by name.
type Queues struct {
	Queues []Queue `json:"queues"`
	Next   string  `json:"next,omitempty"` // there may be more queues: list them with ?after=
}

// CreateQueue is a request to create a queue, with attributes by their SQS names.
type CreateQueue struct {
	Name       string            `json:"name"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
}

// SetQueue is a request to change attributes by their SQS names. Other attributes stay.
type SetQueue struct {
	Attributes map[string]string `json:"attributes"`
}

// Send is a message to send.
type Send struct {
	Body       []byte            `json:"body"`
	Attributes map[string]string `json:"attributes,omitempty"` // attributes of type String
	Delay      *Duration         `json:"delay,omitempty"`
	Group      string            `json:"group,omitempty"`
	Dedup      string            `json:"dedup,omitempty"`
	Priority   int               `json:"priority,omitempty"`
}

// EditMessage is a request to change a waiting message.
type EditMessage struct {
	Body       []byte            `json:"body,omitempty"`       // new body; absent: unchanged
	Attributes map[string]string `json:"attributes,omitempty"` // attributes of type String, added to the existing ones
	Reason     string            `json:"reason,omitempty"`     // reason for the audit log
}

// Amended is the answer to a change of one message.
type Amended struct {
	ID string `json:"id"` // ID of the message
}

// SendBatch is a request to send messages.
type SendBatch struct {
	Messages []Send `json:"messages"` // 1 to 256 messages
}

// Sent is the result for one message.
type Sent struct {
	ID        string `json:"id,omitempty"`
	Sequence  int64  `json:"sequence,omitempty"`
	Duplicate bool   `json:"duplicate,omitempty"`
	Error     string `json:"error,omitempty"`
}

// Part is a piece of work, such as a row, that becomes a dead letter.
type Part struct {
	Body       []byte            `json:"body"`
	Attributes map[string]string `json:"attributes,omitempty"` // attributes of type String
	Outcome    queue.Outcome     `json:"outcome"`
	Once       string            `json:"once,omitempty"` // name of the part, so that a repeated request creates no second letter
}

// PartBatch is a request to set aside parts of work.
type PartBatch struct {
	Parts []Part `json:"parts"` // 1 to 256 parts
}

// SentBatch is the list of results, in the order of the request.
type SentBatch struct {
	Sent []Sent `json:"sent"`
}

// Message is one message of a queue.
type Message struct {
	ID         string                     `json:"id"`
	Queue      string                     `json:"queue"`
	Sequence   int64                      `json:"sequence"`
	State      string                     `json:"state"` // one of visible, in-flight, delayed
	Sent       time.Time                  `json:"sent"`
	VisibleAt  time.Time                  `json:"visible_at"`
	Receives   int                        `json:"receives"`
	Group      string                     `json:"group,omitempty"`
	Dedup      string                     `json:"dedup,omitempty"`
	Priority   int                        `json:"priority,omitempty"`
	Sender     string                     `json:"sender,omitempty"`
	Payload    bezoar.Fingerprint         `json:"payload,omitzero"`
	Body       []byte                     `json:"body,omitempty"`
	Attributes map[string]queue.Attribute `json:"attributes,omitempty"`
	Attempts   []queue.Attempt            `json:"attempts,omitempty"`
	Letter     *queue.Letter              `json:"letter,omitempty"`
	Lineage    *queue.Lineage             `json:"lineage,omitempty"`
}

// Messages is a list of messages, in the order of sending.
type Messages struct {
	Messages []Message `json:"messages"`
}

// Payload is the state of one payload of a queue.
type Payload struct {
	Queue   string             `json:"queue"`
	Payload bezoar.Fingerprint `json:"payload"`
	State   string             `json:"state"`   // one of watched, suspect, quarantined
	Strikes float64            `json:"strikes"` // number of deaths; a timeout counts half
	Since   time.Time          `json:"since"`
	Until   time.Time          `json:"until,omitzero"`
	Class   bezoar.Class       `json:"class"`
	Failure string             `json:"failure,omitempty"`
	Reason  string             `json:"reason,omitempty"`
}

// Payloads is a list of payloads.
type Payloads struct {
	Payloads []Payload `json:"payloads"`
}

// Condition is the reason why a queue, or all queues of a downstream group, deliver nothing
// or only a canary.
type Condition struct {
	Kind  string    `json:"kind"` // one of outage (of a queue), breaker (of a group)
	Name  string    `json:"name"` // name of the queue or group
	State string    `json:"state"`
	Why   string    `json:"why"`
	Until time.Time `json:"until,omitzero"`
}

// Conditions is a list of conditions.
type Conditions struct {
	Conditions []Condition `json:"conditions"`
}

// Queues lists all queues whose names begin with prefix, by name.
func (c *Client) Queues(ctx context.Context, prefix string) ([]Queue, error) {
	q, all := Params{"prefix": prefix}.Values(), []Queue{}
	for {
		var page Queues
		if err := c.call(ctx, http.MethodGet, PathQueues, q, nil, &page); err != nil {
			return nil, wrap(err, "list queues")
		}
		all = append(all, page.Queues...)
		if page.Next == "" {
			return all, nil
		}
		if page.Next <= q.Get("after") {
			return nil, fmt.Errorf("list queues: the server repeated %.80q", page.Next)
		}
		q.Set("after", page.Next)
	}
}

// Queue returns one queue.
func (c *Client) Queue(ctx context.Context, name string) (Queue, error) {
	return Ask[Queue](ctx, c, http.MethodGet, Path(PathQueue, name), nil, nil, "show queue %.80q", name)
}

// CreateQueue creates a queue, or returns an existing one with the same settings.
func (c *Client) CreateQueue(ctx context.Context, in CreateQueue) (Queue, error) {
	return Ask[Queue](ctx, c, http.MethodPost, PathQueues, nil, in, "create queue %.80q", in.Name)
}

// SetQueue changes attributes of a queue.
func (c *Client) SetQueue(ctx context.Context, name string, in SetQueue) (Queue, error) {
	return Ask[Queue](ctx, c, http.MethodPatch, Path(PathQueue, name), nil, in, "change queue %.80q", name)
}

// DeleteQueue deletes a queue with all its messages.
func (c *Client) DeleteQueue(ctx context.Context, name string) error {
	return wrap(c.call(ctx, http.MethodDelete, Path(PathQueue, name), nil, nil, nil), "delete queue %.80q", name)
}

// Purge empties a queue.
func (c *Client) Purge(ctx context.Context, name string) error {
	return wrap(c.call(ctx, http.MethodPost, Path(PathPurge, name), nil, nil, nil), "purge queue %.80q", name)
}

// Pause pauses a queue.
func (c *Client) Pause(ctx context.Context, name string, p queue.Pause) error {
	return wrap(c.call(ctx, http.MethodPost, Path(PathPause, name), nil, p, nil), "pause queue %.80q", name)
}

// Resume ends a queue's pause.
func (c *Client) Resume(ctx context.Context, name string) error {
	return wrap(c.call(ctx, http.MethodPost, Path(PathResume, name), nil, nil, nil), "resume queue %.80q", name)
}

// Send sends messages. Each has its own result; see [Sent].
func (c *Client) Send(ctx context.Context, name string, in []Send) ([]Sent, error) {
	out, err := Ask[SentBatch](ctx, c, http.MethodPost, Path(PathMessages, name), nil, SendBatch{in}, "send to queue %.80q", name)
	return out.Sent, err
}

// SetAside makes parts of work dead letters. Each has its own result; see [Sent].
func (c *Client) SetAside(ctx context.Context, name string, in []Part) ([]Sent, error) {
	out, err := Ask[SentBatch](ctx, c, http.MethodPost, Path(PathParts, name), nil, PartBatch{in}, "set parts aside in queue %.80q", name)
	return out.Sent, err
}

// Peek returns messages without receiving them.
func (c *Client) Peek(ctx context.Context, name string, after int64, limit int) ([]Message, error) {
	q := url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(limit)}}
	out, err := Ask[Messages](ctx, c, http.MethodGet, Path(PathMessages, name), q, nil, "peek into queue %.80q", name)
	return out.Messages, err
}

// EditMessage changes a waiting message, by its sequence number.
func (c *Client) EditMessage(ctx context.Context, name string, sequence int64, in EditMessage) (out Amended, err error) {
	err = c.call(ctx, http.MethodPost, Path(PathMessage, name, strconv.FormatInt(sequence, 10)), nil, in, &out)
	return out, wrap(err, "edit message %d of queue %.80q", sequence, name)
}

// DeleteMessage deletes a waiting message; with force also one in flight.
func (c *Client) DeleteMessage(ctx context.Context, name string, sequence int64, force bool, reason string) (out Amended, err error) {
	q := url.Values{"force": {strconv.FormatBool(force)}, "reason": {reason}}
	err = c.call(ctx, http.MethodDelete, Path(PathMessage, name, strconv.FormatInt(sequence, 10)), q, nil, &out)
	return out, wrap(err, "delete message %d of queue %.80q", sequence, name)
}

// Payloads lists suspected and refused payloads of a queue.
func (c *Client) Payloads(ctx context.Context, name string) ([]Payload, error) {
	out, err := Ask[Payloads](ctx, c, http.MethodGet, Path(PathPayloads, name), nil, nil, "list payloads of queue %.80q", name)
	return out.Payloads, err
}

// Pardon clears the suspicion against a payload.
func (c *Client) Pardon(ctx context.Context, name string, payload bezoar.Fingerprint) error {
	path := Path(PathPardon, name, payload.String())
	return wrap(c.call(ctx, http.MethodDelete, path, nil, nil, nil), "pardon payload %v of queue %.80q", payload, name)
}

// Conditions lists paused queues and open breakers.
func (c *Client) Conditions(ctx context.Context) ([]Condition, error) {
	out, err := Ask[Conditions](ctx, c, http.MethodGet, PathConditions, nil, nil, "list conditions")
	return out.Conditions, err
}

package adminapi

import (
	"context"
	"net/http"
	"time"

	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/outbox"
)

// PathOutboxes is the path of the list of outboxes that a process relays: GET.
const PathOutboxes = "/api/v1/outboxes"

// PathOutboxDeeds is the path that records a change made in an outbox's database in the
// audit log: POST an OutboxDeed.
const PathOutboxDeeds = "/api/v1/outboxes/{name}/deeds"

// OutboxDeed is a change that somebody made in an outbox's database.
type OutboxDeed struct {
	Verb   string `json:"verb"` // one of retry, skip, edit, reset (of a slot)
	Events int64  `json:"events"`
	Reason string `json:"reason,omitempty"`
}

// Outboxes is the list of outboxes, by name.
type Outboxes struct {
	Outboxes []Outbox `json:"outboxes"`
}

// Outbox is the state of an outbox.
type Outbox struct {
	Name     string         `json:"name"`
	Database string         `json:"database"` // kind of the database
	ID       string         `json:"id,omitempty"`
	Version  int            `json:"version,omitempty"` // version of the schema
	Relay    OutboxRelay    `json:"relay"`
	Topics   []OutboxTopic  `json:"topics"`
	Flights  []OutboxFlight `json:"flights"`
	Sinks    []OutboxSink   `json:"sinks,omitempty"`  // sinks of the process that answers
	Alarms   []OutboxAlarm  `json:"alarms,omitempty"` // alarms of the process that answers
	Slots    []OutboxSlot   `json:"slots,omitempty"`  // replication slots of the database's server, with relay: cdc
	Error    string         `json:"error,omitempty"`  // reason why the database could not be read
}

// OutboxSlot is a replication slot of PostgreSQL with the WAL that it holds back.
type OutboxSlot struct {
	Name        string   `json:"name"`
	State       string   `json:"state"` // one of ok, degraded, down
	Reader      string   `json:"reader,omitempty"`
	Retained    int64    `json:"retained_bytes"`     // bytes of WAL that the server keeps for the slot
	Unconfirmed int64    `json:"unconfirmed_bytes"`  // bytes of WAL that the reader has not confirmed
	LimitIn     Duration `json:"limit_in,omitempty"` // time until the disk is full, or the slot is lost
	HeldBy      string   `json:"held_by,omitempty"`  // reason why the server cannot remove the WAL
	Why         string   `json:"why,omitempty"`      // reason why it is not ok
}

// OutboxRelay is the holder of the lease.
type OutboxRelay struct {
	Owner string    `json:"owner,omitempty"`
	Epoch int64     `json:"epoch"` // epoch of the lease; 0: no relay ran yet
	Until time.Time `json:"until,omitzero"`
	Alive bool      `json:"alive"` // whether its lease is still valid
	Here  bool      `json:"here,omitempty"`
}

// OutboxTopic is the count of undelivered events of a topic.
type OutboxTopic struct {
	Topic     string    `json:"topic"`
	Ready     int64     `json:"ready"` // ready events, including those in flight
	Retrying  int64     `json:"retrying"`
	Parked    int64     `json:"parked"`
	Behind    int64     `json:"behind"`
	Oldest    time.Time `json:"oldest,omitzero"`
	Age       Duration  `json:"age"`            // age of the oldest event, by the database's clock
	Sink      string    `json:"sink,omitempty"` // sink in the process that answers
	Delivered int64     `json:"delivered,omitempty"`
}

// OutboxFlight is a batch in delivery.
type OutboxFlight struct {
	Topic  string    `json:"topic"`
	Epoch  int64     `json:"epoch"`
	Events int       `json:"events"`
	Since  time.Time `json:"since"`
}

// OutboxSink is the state of a sink.
type OutboxSink struct {
	Name    string    `json:"name"`
	Paused  bool      `json:"paused"`
	Until   time.Time `json:"until,omitzero"`
	Reason  string    `json:"reason,omitempty"`
	Latency Duration  `json:"latency"`
}

// OutboxAlarm is a condition that needs a person's attention.
type OutboxAlarm struct {
	Kind  string    `json:"kind"`
	What  string    `json:"what"`
	Since time.Time `json:"since"`
}

// NewOutbox returns an outbox with the state from its database.
func NewOutbox(name, database string, st outbox.Status) Outbox {
	o := Outbox{
		Name: name, Database: database, ID: st.ID, Version: st.Version, Topics: []OutboxTopic{}, Flights: []OutboxFlight{},
	}
	if l := st.Lease; l.Epoch > 0 {
		o.Relay = OutboxRelay{Owner: l.Owner, Epoch: l.Epoch, Until: l.Until, Alive: st.Now.Before(l.Until)}
		if l.Until.Unix() <= 0 { // released
			o.Relay.Until = time.Time{}
		}
	}
	for _, t := range st.Topics {
		one := OutboxTopic{Topic: t.Topic, Ready: t.Ready, Retrying: t.Retrying, Parked: t.Parked, Behind: t.Behind, Oldest: t.Oldest}
		if !t.Oldest.IsZero() {
			one.Age = Duration(max(0, st.Now.Sub(t.Oldest)))
		}
		o.Topics = append(o.Topics, one)
	}
	for _, f := range st.Flight {
		o.Flights = append(o.Flights, OutboxFlight{Topic: f.Topic, Epoch: f.Epoch, Events: f.Events, Since: f.Since})
	}
	return o
}

// Here adds the state of the process that relays the outbox.
func (o *Outbox) Here(st outbox.Stats) {
	o.Relay.Here = st.Leader
	for _, s := range st.Sinks {
		o.Sinks = append(o.Sinks, OutboxSink{Name: s.Name, Paused: s.Paused, Until: s.Until, Reason: s.Reason, Latency: Duration(s.Latency)})
	}
	for _, a := range st.Alarms {
		o.Alarms = append(o.Alarms, OutboxAlarm{Kind: a.Kind, What: a.What, Since: a.Since})
	}
	for _, t := range st.Topics {
		for i := range o.Topics {
			if o.Topics[i].Topic == t.Topic {
				o.Topics[i].Sink, o.Topics[i].Delivered = t.Sink, t.Delivered
			}
		}
	}
}

// OutboxEvent is an undelivered event. Lists omit its headers and payload.
type OutboxEvent struct {
	ID        string            `json:"id"`
	Topic     string            `json:"topic"`
	Key       string            `json:"key,omitempty"`
	Sequence  int64             `json:"sequence,omitempty"` // number within its key
	Position  int64             `json:"position"`
	Type      string            `json:"type,omitempty"`
	State     outbox.State      `json:"state"`
	InFlight  bool              `json:"in_flight,omitempty"`
	Attempts  int               `json:"attempts"`
	Blamed    int               `json:"blamed"` // attempts that counted against it
	Behind    int64             `json:"behind"` // later events of its key that wait for it
	Written   time.Time         `json:"written"`
	NotBefore time.Time         `json:"not_before,omitzero"`
	Parked    time.Time         `json:"parked,omitzero"`
	Evidence  *outbox.Evidence  `json:"evidence,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
	Payload   *triage.Body      `json:"payload,omitempty"`
}

// NewOutboxEvent returns an event for a list.
func NewOutboxEvent(w *outbox.Waiting) OutboxEvent {
	return OutboxEvent{
		ID: w.ID, Topic: w.Topic, Key: w.Key, Sequence: w.Sequence, Position: w.Position, Type: w.Type, State: w.State, InFlight: w.InFlight,
		Attempts: w.Attempts, Blamed: w.Blamed, Behind: w.Behind, Written: w.Written, NotBefore: w.NotBefore, Parked: w.Parked, Evidence: w.Evidence,
	}
}

// WholeOutboxEvent returns an event with its headers and payload.
func WholeOutboxEvent(w *outbox.Waiting) OutboxEvent {
	e := NewOutboxEvent(w)
	e.Headers, e.Payload = w.Headers, triage.NewBody(w.Payload)
	return e
}

// NoteOutboxDeed records a deed of the caller in the audit log.
func (c *Client) NoteOutboxDeed(ctx context.Context, name string, d OutboxDeed) error {
	return wrap(c.call(ctx, http.MethodPost, Path(PathOutboxDeeds, name), nil, d, nil), "write the audit log")
}

// Outboxes lists the outboxes that the process relays.
func (c *Client) Outboxes(ctx context.Context) ([]Outbox, error) {
	var out Outboxes
	err := c.call(ctx, http.MethodGet, PathOutboxes, nil, nil, &out)
	return out.Outboxes, err
}

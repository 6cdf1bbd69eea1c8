package outbox

import (
	"encoding/json"
	"fmt"
	"time"
)

// The bounds of an [Event].
const (
	MaxTopic       = 255      // bytes
	MaxKey         = 512      // bytes
	MaxType        = 255      // bytes
	MaxHeaders     = 64       // per event
	MaxHeaderBytes = 16 << 10 // of all names and values of one event
	MaxPayload     = 16 << 20 // bytes; many sinks take less
)

// Event is what a producer writes.
type Event struct {
	// ID is the same in every delivery, and unique in the database. "": the
	// database makes one, a UUID. At most 64 bytes.
	ID string
	// Topic says where the event goes: a relay chooses the sink by it. Letters,
	// digits, dots, dashes and underscores.
	Topic string
	// Key names what the event is about, such as an order's number: events of one
	// topic and key are delivered in order. "": no order is kept.
	Key string
	// Type says what has happened, such as order.paid. "": the topic.
	Type string
	// Headers go with the event where a sink has a place for them. Names are as in
	// HTTP.
	Headers map[string]string
	Payload []byte
}

// Record is an event as an outbox keeps it.
type Record struct {
	Event
	// Position is where the event is in its outbox. Of two events of one key, the
	// later one has the higher position. Positions of different keys say nothing
	// about time.
	Position int64
	// Sequence counts the events of one topic and key, from 1, without holes. 0
	// without a key.
	Sequence int64
	Written  time.Time // by the database's clock
	Attempts int       // deliveries that were tried before
	// Fault says why the row cannot be read, as after somebody changed it; "": it can.
	// A relay counts it against the event, and sends nothing.
	Fault string
}

// SetHeaders reads headers as a database has them, an object of strings in JSON.
func (r *Record) SetHeaders(text []byte) {
	if err := json.Unmarshal(text, &r.Headers); err != nil {
		r.Headers, r.Fault = nil, fmt.Sprintf("its headers are not a JSON object of strings: %v", err)
	}
}

package outbox

import (
	"encoding/json"
	"fmt"
	"time"
)

// Limits of an [Event].
const (
	MaxTopic       = 255      // bytes
	MaxKey         = 512      // bytes
	MaxType        = 255      // bytes
	MaxHeaders     = 64       // headers per event
	MaxHeaderBytes = 16 << 10 // total bytes of all header names and values of one event
	MaxPayload     = 16 << 20 // bytes; many sinks accept less
)

// Event is an event as a producer writes it.
type Event struct {
	// ID is unique in the database and the same in every delivery. At most 64 bytes. If it
	// is empty, the database generates a UUID.
	ID string
	// Topic selects the sink. It has 1 to [MaxTopic] letters, digits, dots, dashes and
	// underscores.
	Topic string
	// Key identifies the subject of the event, such as an order number. Events of one topic
	// and key are delivered in order. Events without a key have no order.
	Key string
	// Type says what happened, such as order.paid. If it is empty, the topic is used.
	Type string
	// Headers accompany the event if the sink supports headers. Names follow the rules of
	// HTTP.
	Headers map[string]string
	Payload []byte
}

// Record is an event as the outbox stores it.
type Record struct {
	Event
	// Position is the place of the event in its outbox. Of two events of one key, the later
	// one has the higher position. Positions of events with different keys do not show
	// which is older.
	Position int64
	// Sequence numbers the events of one topic and key from 1, without gaps. It is 0 for
	// events without a key.
	Sequence int64
	Written  time.Time // by the database's clock
	Attempts int       // earlier delivery attempts
	// Fault is the reason why the row cannot be read, for example because it was edited by
	// hand. Empty: the row is valid. The relay counts a fault against the event and does
	// not send it.
	Fault string
}

// SetHeaders sets the headers from the database's representation, a JSON object of strings.
func (r *Record) SetHeaders(text []byte) {
	if err := json.Unmarshal(text, &r.Headers); err != nil {
		r.Headers, r.Fault = nil, fmt.Sprintf("the headers are not a JSON object of strings: %v", err)
	}
}

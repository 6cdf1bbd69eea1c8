package outbox

import "context"

// Feed passes events to a relay as they are committed, read from the database's log. A feed
// is an optimization: its records make the relay look for events at once, and save reading
// the payloads. The tables alone decide which events are sent, and in which order. So a
// feed may lose, repeat or reorder events, and may acknowledge records to its source once
// it has passed them on.
type Feed interface {
	// Run passes events to give until ctx ends or an error occurs. give keeps the records;
	// it may block for a short time if events arrive faster than they are sent. After an
	// error, the relay raises an alarm and calls Run again after a pause.
	Run(ctx context.Context, give func([]Record)) error
}

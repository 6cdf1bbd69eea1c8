package outbox

import "context"

// Feed hands a relay events as they are committed, from the database's log. It
// only saves time: what it hands over makes the relay look at once, and saves it
// from reading the payloads. Which events are sent, and in which order, the tables
// alone decide. So a feed may lose, repeat or reorder events, and may confirm to
// its source what it has handed over.
type Feed interface {
	// Run hands over events until ctx ends or an error. give may block for a short
	// time if events come faster than they leave; it keeps the records. The relay
	// calls Run again after a pause when it has returned an error, and says so.
	Run(ctx context.Context, give func([]Record)) error
}

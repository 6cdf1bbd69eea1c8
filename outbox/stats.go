package outbox

import "time"

// Stats is what a [Relay] did since it began, and how it is. Counts only grow.
type Stats struct {
	Leader bool  // it holds the lease
	Epoch  int64 // of its lease; the last one if it has none now
	// Owner is who holds the lease, as far as this relay knows.
	Owner  string
	Topics []TopicStats // that it has seen, in alphabetical order
	Sinks  []SinkStats  // in the order of the settings
	Alarms []Alarm      // what a person should look at now

	Lost  int64 // flights of dead relays that were taken over
	Fed   int64 // records that the feed handed over
	Hits  int64 // of these, those that saved reading a payload
	Polls int64
}

// TopicStats counts deliveries of a topic.
type TopicStats struct {
	Topic     string
	Sink      string // "": no sink wants it
	Delivered int64
	Bytes     int64
	Batches   int64
	Failed    int64 // deliveries that counted against their events
	PutOff    int64 // deliveries that failed and did not
	Parked    int64
	Age       time.Duration // from written to delivered, of the last batch's first event
}

// SinkStats is how a sink is.
type SinkStats struct {
	Name    string
	Paused  bool
	Until   time.Time // when it is tried again
	Reason  string    // why it pauses
	Pauses  int64
	Latency time.Duration // of the last batch
}

// Alarm is a state that a person should know. It is gone when the state is.
type Alarm struct {
	// Kind is no-owner, no-progress, unrouted, sink-paused, parked, database, feed or
	// wake.
	Kind  string
	What  string // for people
	Since time.Time
}

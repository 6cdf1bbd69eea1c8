package outbox

import "time"

// Stats holds the statistics and the state of a [Relay]. Counters start at 0 with the relay
// and only grow.
type Stats struct {
	Leader bool  // whether the relay holds the lease
	Epoch  int64 // epoch of its current or last lease
	// Owner is the current holder of the lease, as far as this relay knows.
	Owner  string
	Topics []TopicStats // topics seen so far, in alphabetical order
	Sinks  []SinkStats  // in the order of the settings
	Alarms []Alarm      // conditions that need attention now

	Lost  int64 // flights taken over from dead relays
	Fed   int64 // records received from the feed
	Hits  int64 // records of the feed that saved reading a payload
	Polls int64
}

// TopicStats counts the deliveries of a topic.
type TopicStats struct {
	Topic     string
	Sink      string // empty: no sink matches the topic
	Delivered int64
	Bytes     int64
	Batches   int64
	Failed    int64 // failed deliveries that counted against their events
	PutOff    int64 // failed deliveries that did not count
	Parked    int64
	Age       time.Duration // time from write to delivery of the first event in the last batch
}

// SinkStats describes the state of a sink.
type SinkStats struct {
	Name    string
	Paused  bool
	Until   time.Time // when the pause ends
	Reason  string    // why the sink pauses
	Pauses  int64
	Latency time.Duration // duration of the last batch
}

// Alarm is a condition that needs a person's attention. It disappears when the condition
// ends.
type Alarm struct {
	// Kind is one of no-owner, no-progress, unrouted, sink-paused, parked, database, feed
	// and wake.
	Kind  string
	What  string // description for display
	Since time.Time
}

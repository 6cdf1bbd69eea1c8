package worker

import (
	"fmt"
	"os"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

// Attribute is one typed value beside a message's body.
type Attribute = queue.Attribute

// Message is one delivery of a message.
type Message struct {
	ID         string
	Body       []byte
	Attributes map[string]Attribute
	Queue      string // its name
	Group      string // of a FIFO queue; a label elsewhere
	Receives   int    // deliveries, this one included
	Sent       time.Time
	Receipt    string             // names this delivery to its Source
	Payload    bezoar.Fingerprint // of the body, if the queue knows it
	Alone      bool               // it may have killed a worker: run nothing beside it
	Deadline   time.Time          // when the worker stops it; set by the worker
	// Lost is closed by a Source that finds out by itself that a delivery is over. The
	// worker then stops the run at once and reports nothing. nil: only Extend finds out.
	Lost <-chan struct{}

	native queue.Receipt // of a Direct source
}

// Outcome says what became of a message.
type Outcome string

// The outcomes.
const (
	OutcomeDone     Outcome = "done"     // done and deleted
	OutcomeReported Outcome = "reported" // reported to the queue, which decides
	OutcomeRetry    Outcome = "retry"    // delivered again later
	OutcomeDead     Outcome = "dead"     // set aside with its letter
	OutcomeRefused  Outcome = "refused"  // set aside without a run: its payload is convicted
	OutcomeLeft     Outcome = "left"     // should be set aside, but the queue has no dead-letter queue
	OutcomeReturned Outcome = "returned" // given back without blame
	OutcomeLost     Outcome = "lost"     // its lease had ended: another worker may have it
)

// Event describes how one delivery ended.
type Event struct {
	Time     time.Time     `json:"time"`
	Queue    string        `json:"queue"`
	ID       string        `json:"message"`
	Receives int           `json:"receives"`
	Class    bezoar.Class  `json:"class"`
	Outcome  Outcome       `json:"outcome"`
	Reason   string        `json:"reason,omitempty"`
	Failure  string        `json:"failure,omitempty"` // its fingerprint
	Why      string        `json:"why,omitempty"`     // the reason of the outcome
	Delay    time.Duration `json:"-"`                 // until the message is delivered again
	Rows     int           `json:"rows,omitempty"`    // set aside as letters of their own
	Elapsed  time.Duration `json:"-"`
	CPU      time.Duration `json:"-"`
	MaxRSS   int64         `json:"max_rss,omitempty"`
}

func defaultName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	return fmt.Sprintf("%.200s:%d", host, os.Getpid())
}

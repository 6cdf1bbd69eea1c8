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
	Payload    bezoar.Fingerprint // of the body, where the queue knows it
	Alone      bool               // suspected of killing its worker: to run with nothing beside it
	Deadline   time.Time          // when it will be stopped, set by the worker
	// Lost is closed by a Source that learns by itself that a delivery is over:
	// what runs is stopped at once, and nothing is reported. nil: Extend alone says so.
	Lost <-chan struct{}

	native queue.Receipt // of a Direct source
}

// Outcome is what became of a message.
type Outcome string

// The outcomes.
const (
	OutcomeDone     Outcome = "done"     // and deleted
	OutcomeReported Outcome = "reported" // the queue judges: see there
	OutcomeRetry    Outcome = "retry"    // comes again
	OutcomeDead     Outcome = "dead"     // set aside, with its letter
	OutcomeRefused  Outcome = "refused"  // set aside, undelivered: its payload is convicted
	OutcomeLeft     Outcome = "left"     // ought to be set aside, and there is nowhere to
	OutcomeReturned Outcome = "returned" // given back, without blame
	OutcomeLost     Outcome = "lost"     // its lease was over: another worker may have it
)

// Event tells how one delivery ended.
type Event struct {
	Time     time.Time     `json:"time"`
	Queue    string        `json:"queue"`
	ID       string        `json:"message"`
	Receives int           `json:"receives"`
	Class    bezoar.Class  `json:"class"`
	Outcome  Outcome       `json:"outcome"`
	Reason   string        `json:"reason,omitempty"`
	Failure  string        `json:"failure,omitempty"` // its fingerprint
	Why      string        `json:"why,omitempty"`     // of the outcome
	Delay    time.Duration `json:"-"`                 // until it comes again
	Rows     int           `json:"rows,omitempty"`    // set aside by themselves
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

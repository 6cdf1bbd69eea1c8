package worker

import (
	"context"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// ErrLost says that a delivery is over: its lease has ended, and the message may
// be somebody else's.
var ErrLost = errors.New("the lease is over")

// ErrNowhere says that a queue has no dead-letter queue.
var ErrNowhere = errors.New("there is no dead-letter queue")

// Source is where messages come from. Its methods are safe for concurrent use.
// Errors of which errors.Is(err, ErrLost) holds mean that the delivery is over;
// others may pass.
type Source interface {
	// Open looks the queue up. It is called first, and once.
	Open(ctx context.Context) (About, error)
	// Receive leases up to in.Max messages, and waits for one up to in.Wait.
	Receive(ctx context.Context, in Receive) ([]Message, error)
	// Extend makes a lease end d from now.
	Extend(ctx context.Context, m Message, d time.Duration) error
	// Done deletes a message.
	Done(ctx context.Context, m Message) error
	// Release gives a message back.
	Release(ctx context.Context, m Message, r Release) error
	// SetAside makes a dead letter of a message, or of a part of it. The
	// message itself stays as it is. ErrNowhere is for a queue that has no
	// place for letters.
	SetAside(ctx context.Context, m Message, l Letter) error
}

// Dropper is a Source that wants to know when a message that it takes back, as its
// Lost says, is not worked on any more.
type Dropper interface {
	// Dropped is called once for each delivery that was lost.
	Dropped(m Message)
}

// About is what there is to know of a queue.
type About struct {
	Queue string // its name
	FIFO  bool
	// Judges says that the queue judges outcomes itself: Release reports them,
	// and the worker decides nothing.
	Judges bool
	Batch  int // the most messages of one receive
	// DeadLetter is where letters go, for people; "" is nowhere.
	DeadLetter  string
	MaxReceives int // until the queue itself sets a message aside; 0: never
}

// Receive says how to receive.
type Receive struct {
	Max        int
	Visibility time.Duration
	Wait       time.Duration
	Worker     string // a name for this one receive, by which the queue knows who has its messages
	Life       string // of the worker: another one for each process
	Missed     bool   // the queue is to judge what the worker held if it vanishes: nobody may be left who reports it
}

// Release says how a message is given back.
type Release struct {
	Delay      time.Duration // until it may be received again
	RetryAfter time.Duration // the least that is to pass until then, whatever a queue decides
	Outcome    *queue.Outcome
	Reject     bool   // with Outcome, where the queue judges: it is a dead letter at once
	Downstream string // with Outcome: the group that failed
	Holding    int    // with Outcome: how many messages a worker had that died
	Weak       bool   // with Outcome: nobody knows what it died of, so that it proves only half as much
	Refund     bool   // the receive does not count, where a queue can do that
}

// Letter is a dead letter to be.
type Letter struct {
	Body    []byte
	Outcome queue.Outcome
	Once    string // names it: what is set aside twice within minutes is one letter, where a queue can do that
	Part    bool   // Body is a part of the message's
}

package worker

import (
	"context"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// ErrLost means that the lease of a delivery has ended. Another worker may have the
// message.
var ErrLost = errors.New("the lease is over")

// ErrNowhere means that a queue has no dead-letter queue.
var ErrNowhere = errors.New("there is no dead-letter queue")

// Source is where messages come from. Its methods are safe for concurrent use. If
// errors.Is(err, ErrLost), the delivery is over. The worker retries after other errors,
// except a PermanentError.
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

// Dropper is for a Source that wants to be told when the worker no longer works on a message
// that the Source took back by its Lost channel.
type Dropper interface {
	// Dropped is called once for each delivery that was lost.
	Dropped(m Message)
}

// About describes a queue.
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

// Receive holds the parameters of one receive.
type Receive struct {
	Max        int
	Visibility time.Duration
	Wait       time.Duration
	Worker     string // a name for this receive, by which the queue knows who has its messages
	Life       string // of the worker process: different for each process
	Missed     bool   // if the worker vanishes, the queue judges what it held: no process may be left to report it
}

// Release says how a message is given back.
type Release struct {
	Delay      time.Duration // until it can be received again
	RetryAfter time.Duration // the least time until then, whatever the queue decides
	Outcome    *queue.Outcome
	Reject     bool   // with Outcome, if the queue judges: make it a dead letter at once
	Downstream string // with Outcome: the group that failed
	Holding    int    // with Outcome: how many messages the dead worker had
	Weak       bool   // with Outcome: the cause of the death is unknown, so it counts half
	Refund     bool   // do not count the receive, if the queue can do that
}

// Letter is a dead letter that is about to be stored.
type Letter struct {
	Body    []byte
	Outcome queue.Outcome
	Once    string // a name: letters with the same name within minutes are stored once, if the queue can do that
	Part    bool   // Body is only a part of the body of the message
}

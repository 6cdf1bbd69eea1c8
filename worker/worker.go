package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/judge"
	"github.com/bezoar-dev/bezoar/internal/state/facts"
	"github.com/bezoar-dev/bezoar/internal/state/secret"
	"github.com/bezoar-dev/bezoar/internal/state/startlog"
	"github.com/bezoar-dev/bezoar/queue"
)

// runner runs one message.
type runner interface {
	// run owns what runs need until ctx ends.
	run(ctx context.Context) error
	// do runs a message to its end. When ctx ends it stops it.
	do(ctx context.Context, m *Message, started func(pid int)) result
	// sweep removes what a dead predecessor left.
	sweep(ctx context.Context) (int, error)
	// isolated reports whether a message cannot kill this process.
	isolated() bool
}

// Worker works on the messages of one queue. Create it with [New].
type Worker struct {
	cfg     Config
	runner  runner
	about   About
	starts  *startlog.Log // nil without State
	facts   *facts.Store
	judge   *judge.Local // nil where the queue judges
	printer *sync.Pool   // of *fingerprint.Printer

	slots    *slots
	alone    sync.RWMutex  // held for writing by a message that runs with nothing beside it
	reports  chan struct{} // a token for each message that has ended and is not reported yet
	messages sync.WaitGroup
	serial   atomic.Uint64 // of receives
	doubt    doubt
	fresh    bool                   // nothing of an earlier life was found: it may have had one, and may have a next one
	start    time.Time              // of this life
	life     string                 // names it
	dangers  atomic.Int32           // messages here that may kill this process, and run with nothing beside them
	ends     ends                   // messages that this life has seen end
	off      off                    // messages that others go before
	empty    atomic.Int64           // when the last receive began that found nothing, in Unix nanoseconds
	took     atomic.Int64           // how long messages ran lately, in nanoseconds
	failed   chan error             // what stops the worker; one
	telling  sync.Mutex             // held while somebody is told of an event
	shut     atomic.Pointer[string] // why nothing is received; nil: it is
	asks     atomic.Bool            // the queue judges, and knows what holds it back
	quiet    chan struct{}          // closed when nothing is received any more
	aborted  atomic.Bool
}

// New returns a worker. It opens nothing. The caller must call Run.
func New(c Config) (*Worker, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	c = c.withDefaults()
	return &Worker{
		cfg: c, slots: newSlots(c.Concurrency), failed: make(chan error, 1), quiet: make(chan struct{}),
		reports: make(chan struct{}, 2*c.Concurrency+64), life: rand.Text(),
	}, nil
}

// Run works until ctx ends. Then it receives nothing more, lets running messages go on for
// Config.Drain, interrupts the rest, and returns nil when every message is done or given
// back. An error means that the worker could not go on; every message was given back then,
// too. Call Run once.
func (w *Worker) Run(ctx context.Context) (err error) {
	base := context.WithoutCancel(ctx)
	if w.about, err = w.cfg.Source.Open(ctx); err != nil {
		return fmt.Errorf("open the queue: %w", err)
	}
	left, err := w.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.recover(ctx, left); err != nil {
		return err
	}
	life, stop := context.WithCancel(base)
	ended := make(chan error, 1)
	go func() {
		err := w.runner.run(life)
		if err != nil && life.Err() == nil { // what runs messages does no more
			w.fail(&SpawnError{Command: w.cfg.Command.name(), Err: err})
			err = nil
		}
		ended <- err
	}()
	defer func() {
		stop()
		err = errors.Join(err, <-ended)
	}()
	return w.work(ctx, base)
}

// work receives and runs until ctx ends, and drains.
func (w *Worker) work(ctx, base context.Context) error {
	receiving, stop := context.WithCancel(ctx)
	defer stop()
	running, interrupt := context.WithCancelCause(base)
	defer interrupt(nil)
	received := make(chan error, 1)
	go func() { received <- w.receive(receiving, running) }()
	var err error
	select {
	case err = <-w.failed:
	case err = <-received:
		received <- nil
	case <-ctx.Done():
	}
	stop()
	if ctx.Err() != nil && w.starts != nil {
		if err := w.starts.Stopping(); err != nil {
			w.cfg.Log.Warn("a stop could not be written down", "err", err)
		}
	}
	if more := <-received; err == nil && ctx.Err() == nil {
		err = more
	}
	if _, inside := w.cfg.Source.(*direct); !inside {
		sleep(base, deadCalls)
	}
	close(w.quiet)
	if !w.settle(w.cfg.Drain) {
		interrupt(errInterrupted)
		if !w.settle(w.goodbye()) {
			err = errors.Join(err, errors.New("a handler did not stop though its context had ended: its message comes back when its lease is over"))
		}
	}
	select {
	case more := <-w.failed:
		err = errors.Join(err, more)
	default:
	}
	return err
}

// deadCalls is how long an endpoint may take to notice that a receive was broken
// off: what is visible again before that it would give to nobody. Bezoar's takes
// back what it gives to a closed connection, but a client closes one a moment
// after its call has ended.
const deadCalls = 250 * time.Millisecond

// goodbye is how long an interrupted run may take.
func (w *Worker) goodbye() time.Duration {
	return w.cfg.Command.grace() + 10*time.Second
}

// settle waits until every message has been settled.
func (w *Worker) settle(most time.Duration) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.messages.Wait()
	}()
	if most <= 0 { // what ends by itself at once is welcome
		most = time.Millisecond
	}
	select {
	case <-done:
		return true
	case <-time.After(most):
		return false
	}
}

func (w *Worker) fail(err error) {
	select {
	case w.failed <- err:
	default: // it stops already
	}
}

// observe tells of a message that has ended.
func (w *Worker) observe(e Event) {
	e.Time = time.Now()
	w.telling.Lock()
	defer w.telling.Unlock()
	w.cfg.Observe(e)
}

// Running returns how many messages run now.
func (w *Worker) Running() int { return w.slots.running() }

// Abort is for a process that ends at once, without a drain. It records that running
// messages are not to blame. They are delivered again when their leases end.
func (w *Worker) Abort() {
	if w.aborted.Swap(true) || w.starts == nil {
		return
	}
	if err := w.starts.Stopping(); err != nil {
		w.cfg.Log.Warn("a stop could not be written down", "err", err)
	}
}

// open takes the directories, and makes who runs and judges.
func (w *Worker) open() (left []startlog.Left, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	// First what another worker may have: whoever tries several directories does not
	// wait for the facts in each.
	if left, err = w.openState(); err != nil {
		return nil, err
	}
	key, err := w.openShared()
	if err != nil {
		return nil, err
	}
	w.printer = &sync.Pool{New: func() any {
		p, err := fingerprint.New(key, fingerprint.Config{MaxBody: queue.MaxBytes})
		if err != nil {
			panic("worker: a fixed configuration is refused: " + err.Error())
		}
		return p
	}}
	if w.runner, err = w.newRunner(); err != nil {
		return nil, err
	}
	if w.asks.Store(w.about.Judges); w.about.Judges {
		return left, nil
	}
	rules := w.cfg.policies()
	rules.Facts, rules.Queue = w.facts, w.about.Queue
	w.judge, err = judge.NewLocal(rules)
	return left, err
}

func (w *Worker) openState() (left []startlog.Left, err error) {
	w.start, w.fresh = time.Now(), true
	if w.cfg.State == "" {
		return nil, nil
	}
	if _, err := os.Stat(filepath.Join(w.cfg.State, "starts")); err == nil {
		w.fresh = false
	}
	if w.starts, left, err = startlog.Open(w.cfg.State, cap(w.reports)+w.cfg.Concurrency+maxAhead); err != nil {
		return nil, err
	}
	if note := w.starts.Note(); note != "" {
		w.cfg.Log.Warn(note)
	}
	return left, nil
}

func (w *Worker) openShared() (key fingerprint.Key, err error) {
	if w.cfg.Shared == "" {
		w.facts = facts.InMemory()
		return randomKey(), nil
	}
	if err := os.MkdirAll(w.cfg.Shared, 0o700); err != nil {
		return key, fmt.Errorf("make the shared directory: %w", err)
	}
	k, err := secret.Load(filepath.Join(w.cfg.Shared, "secret"))
	if err != nil {
		return key, err
	}
	if w.facts, err = facts.Open(facts.Config{Path: filepath.Join(w.cfg.Shared, "facts"), Log: w.cfg.Log}); err != nil {
		return key, err
	}
	if note := w.facts.Note(); note != "" {
		w.cfg.Log.Warn(note)
	}
	return fingerprint.Key(k), nil
}

func (w *Worker) newRunner() (runner, error) {
	if w.cfg.Handler != nil {
		return &handler{f: w.cfg.Handler, timeout: w.cfg.Timeout, log: w.cfg.Log}, nil
	}
	return newCommand(w.cfg)
}

func (w *Worker) close() error {
	var errs []error
	if w.starts != nil {
		errs = append(errs, w.starts.Close())
		w.starts = nil
	}
	if w.judge != nil {
		w.judge.Leave(time.Now())
	}
	if w.facts != nil {
		errs = append(errs, w.facts.Close())
		w.facts = nil
	}
	return errors.Join(errs...)
}

// payload is what a message is recognised by: see [queue.Identify].
func (w *Worker) payload(m *Message) bezoar.Fingerprint {
	if !m.Payload.IsZero() {
		return m.Payload
	}
	p := w.printer.Get().(*fingerprint.Printer)
	defer w.printer.Put(p)
	return queue.Identify(p, m.Body, m.Attributes)
}

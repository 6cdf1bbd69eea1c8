package amqp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/worker"
)

const (
	batch = 100 // maximum number of messages per receive
	// ackGrace is the wait between the last acknowledgement and closing the connection.
	// Quorum queues drop acknowledgements that their members have not agreed on by then.
	ackGrace = 250 * time.Millisecond
	endFor   = 5 * time.Second // time limit for closing channels and then the connection if the broker does not answer
	// maxDelayed is the approximate maximum number of held delayed messages.
	maxDelayed = 1000
)

// Source is a worker's source on a queue. Create it with [New], and call Close when the
// worker has ended.
type Source struct {
	cfg  Config
	life string // identifies this source in receipts

	mu      sync.Mutex // guards the fields below and the messages of sessions
	session *session   // nil if there is no connection
	serial  int        // number of the session
	ready   []*held
	wake    chan struct{} // signalled when a message is ready or a session has ended
	closed  bool
	acked   time.Time // time of the last acknowledgement
}

// New returns a source. It does not connect.
func New(c Config) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Source{cfg: c.withDefaults(), life: rand.Text(), wake: make(chan struct{}, 1)}, nil
}

// Open connects, checks the queue, and declares the dead-letter queue if necessary.
func (s *Source) Open(context.Context) (worker.About, error) {
	if err := s.connect(); err != nil {
		return worker.About{}, err
	}
	return worker.About{Queue: s.cfg.Queue, Batch: batch, DeadLetter: s.cfg.DeadLetter}, nil
}

// connect starts a session if there is none.
func (s *Source) connect() error {
	s.mu.Lock()
	there, closed := s.session, s.closed
	s.serial++
	serial := s.serial
	s.mu.Unlock()
	if there != nil || closed {
		return nil
	}
	n, err := s.begin(serial)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.session = n
	s.mu.Unlock()
	n.start()
	return nil
}

// Close closes the connection. The broker redelivers unacknowledged messages.
func (s *Source) Close() error {
	s.mu.Lock()
	n, rest := s.session, ackGrace-time.Since(s.acked)
	s.closed = true
	s.mu.Unlock()
	if n == nil {
		return nil
	}
	time.Sleep(rest) // the broker does not confirm acknowledgements
	n.end(nil)
	n.works.Wait()
	return nil
}

// Receive returns messages that may run now. It reconnects if the connection has ended.
func (s *Source) Receive(ctx context.Context, in worker.Receive) ([]worker.Message, error) {
	over := time.NewTimer(in.Wait)
	defer over.Stop()
	for {
		if err := s.connect(); err != nil {
			if b, ok := errors.AsType[*brokers.Error](err); ok && b.Kind == brokers.Missing {
				err = &worker.PermanentError{Err: err}
			}
			return nil, err
		}
		if got := s.take(in.Max); len(got) > 0 {
			return got, nil
		}
		select {
		case <-s.wake:
		case <-over.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take removes ready messages from the list, up to most.
func (s *Source) take(most int) (got []worker.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.ready) > 0 && len(got) < most {
		h := s.ready[0]
		s.ready[0], s.ready = nil, s.ready[1:]
		if h.session.gone {
			continue
		}
		h.out = true
		h.receives++
		got = append(got, s.message(h))
	}
	if len(s.ready) > 0 {
		signal(s.wake)
	}
	return got
}

// Extend checks that the connection of a message is still open.
func (s *Source) Extend(_ context.Context, m worker.Message, _ time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.find(m)
	return err
}

func (s *Source) Done(_ context.Context, m worker.Message) error {
	s.mu.Lock()
	h, err := s.find(m)
	last := false
	s.acked = time.Now()
	if err == nil {
		last = h.session.drop(h)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if err := h.delivery.Ack(false); err != nil {
		h.session.end(err)
		return fmt.Errorf("%w: acknowledge it: %w", worker.ErrLost, err)
	}
	if last {
		_ = h.consumer.channel.Close() // otherwise it ends with the connection
	}
	return nil
}

// Release hands a message out again after a delay.
func (s *Source) Release(_ context.Context, m worker.Message, r worker.Release) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, err := s.find(m)
	if err != nil || !h.out {
		return err
	}
	h.out = false
	if r.Refund {
		h.receives--
	}
	if r.Delay <= 0 {
		s.makeReady(h)
		return nil
	}
	h.session.delayed++
	signal(h.session.balance)
	h.after = time.AfterFunc(r.Delay, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		h.session.delayed--
		signal(h.session.balance)
		s.makeReady(h)
	})
	return nil
}

// makeReady makes a message available to the next Receive. The caller holds the lock.
func (s *Source) makeReady(h *held) {
	if !h.session.gone {
		s.ready = append(s.ready, h)
		signal(s.wake)
	}
}

// find returns a held message. The caller holds the lock.
func (s *Source) find(m worker.Message) (*held, error) {
	r, err := parseReceipt(m.Receipt)
	n := s.session
	if err != nil || r.life != s.life || n == nil || n.gone || n.serial != r.serial {
		return nil, fmt.Errorf("%w: the message's connection has ended", worker.ErrLost)
	}
	h := n.held[r.place]
	if h == nil {
		return nil, fmt.Errorf("%w: the message was already acknowledged", worker.ErrLost)
	}
	return h, nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

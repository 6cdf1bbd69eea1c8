package nats

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/worker"
)

const (
	batch    = 100 // maximum number of messages per receive
	openFor  = 30 * time.Second
	askFor   = 2 * time.Second // how long the server waits for a message
	flushFor = 5 * time.Second
)

// Source is a worker's source on a stream. Create it with [New], and call Close when the
// worker has ended.
type Source struct {
	cfg      Config
	life     string // identifies this source in receipts
	conn     *nats.Conn
	js       jetstream.JetStream
	consumer jetstream.Consumer
	ackWait  time.Duration
	stop     context.CancelFunc
	works    sync.WaitGroup // goroutines that report progress

	mu     sync.Mutex // guards the fields below
	serial int
	held   map[int]*held
	heard  time.Time // last time that the server may have received a report
}

// held is one unacknowledged message.
type held struct {
	message  jetstream.Msg
	sequence uint64
	receives int
	lost     chan struct{}
}

// New returns a source. It does not connect.
func New(c Config) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Source{cfg: c.withDefaults(), life: rand.Text(), held: map[int]*held{}}, nil
}

// Open connects, finds the stream, and creates the consumer and the dead-letter stream if
// necessary.
func (s *Source) Open(ctx context.Context) (worker.About, error) {
	call, cancel := context.WithTimeout(ctx, openFor)
	defer cancel()
	if s.conn == nil { // not yet opened; a worker may call Open again
		conn, err := s.cfg.dial(call)
		if err != nil {
			return worker.About{}, err
		}
		if s.js, err = jetstream.New(conn); err != nil {
			conn.Close()
			return worker.About{}, fmt.Errorf("use JetStream: %w", err)
		}
		s.conn = conn
	}
	config, err := s.find(call)
	if err == nil {
		err = s.findDeadLetter(call)
	}
	if err != nil {
		return worker.About{}, s.cfg.explain(err)
	}
	if s.stop == nil {
		keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
		s.stop, s.heard = stop, time.Now()
		s.works.Go(func() { s.keep(keeping) })
	}
	return worker.About{Queue: s.cfg.Stream, Batch: batch, DeadLetter: s.cfg.DeadLetter, MaxReceives: max(config.MaxDeliver, 0)}, nil
}

// find finds or creates the consumer.
func (s *Source) find(ctx context.Context) (jetstream.ConsumerConfig, error) {
	consumer, err := s.js.Consumer(ctx, s.cfg.Stream, s.cfg.Consumer)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		policy := jetstream.DeliverAllPolicy
		if s.cfg.Latest {
			policy = jetstream.DeliverNewPolicy
		}
		consumer, err = s.js.CreateConsumer(ctx, s.cfg.Stream, jetstream.ConsumerConfig{
			Durable: s.cfg.Consumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: s.cfg.AckWait, DeliverPolicy: policy,
		})
		if errors.Is(err, jetstream.ErrConsumerExists) { // another worker was first
			consumer, err = s.js.Consumer(ctx, s.cfg.Stream, s.cfg.Consumer)
		} else if err == nil {
			s.cfg.Log.Info("created the consumer", "stream", s.cfg.Stream, "consumer", s.cfg.Consumer)
		}
	}
	if err != nil {
		return jetstream.ConsumerConfig{}, fmt.Errorf("look up consumer %s of stream %s: %w", s.cfg.Consumer, s.cfg.Stream, err)
	}
	config := consumer.CachedInfo().Config
	if config.AckPolicy != jetstream.AckExplicitPolicy {
		return config, &brokers.Error{
			Kind: brokers.Denied, Err: fmt.Errorf("consumer %s does not use explicit acknowledgements", s.cfg.Consumer),
			Fix: "set another consumer; a missing consumer is created",
		}
	}
	s.consumer, s.ackWait = consumer, config.AckWait
	for _, wait := range config.BackOff {
		s.ackWait = min(s.ackWait, wait)
	}
	return config, nil
}

// findDeadLetter creates the dead-letter stream if it does not exist.
func (s *Source) findDeadLetter(ctx context.Context) error {
	_, err := s.js.Stream(ctx, s.cfg.DeadLetter)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	_, err = s.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: s.cfg.DeadLetter, Subjects: []string{s.cfg.DeadLetter}, Description: "dead letters of stream " + s.cfg.Stream,
	})
	if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return &brokers.Error{
			Kind: brokers.Missing, Err: fmt.Errorf("the dead-letter stream %s does not exist and cannot be created: %w", s.cfg.DeadLetter, err),
			Fix: "create it with nats stream add, with a subject of the same name, or set another stream with --dead-letter",
		}
	}
	s.cfg.Log.Info("created the dead-letter stream", "stream", s.cfg.DeadLetter)
	return nil
}

// Close returns unfinished messages to the server, and disconnects.
func (s *Source) Close() error {
	if s.conn == nil {
		return nil
	}
	if s.stop != nil {
		s.stop()
		s.works.Wait()
	}
	s.mu.Lock()
	left := s.held
	s.held = map[int]*held{}
	s.mu.Unlock()
	for _, h := range left {
		close(h.lost)
		_ = h.message.Nak() // otherwise the server waits for AckWait
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushFor)
	defer cancel()
	_ = s.conn.FlushWithContext(ctx) // otherwise the server waits for AckWait
	s.conn.Close()
	s.conn, s.stop = nil, nil
	return nil
}

// Receive requests messages that may run now. It returns the available ones, or waits for
// one.
func (s *Source) Receive(ctx context.Context, in worker.Receive) ([]worker.Message, error) {
	over := time.Now().Add(in.Wait)
	for {
		got, err := s.fetch(ctx, func() (jetstream.MessageBatch, error) { return s.consumer.FetchNoWait(min(in.Max, batch)) })
		if len(got) > 0 || err != nil {
			return got, err
		}
		wait := min(time.Until(over), askFor)
		if wait <= 0 {
			return nil, nil
		}
		got, err = s.fetch(ctx, func() (jetstream.MessageBatch, error) {
			return s.consumer.Fetch(1, jetstream.FetchMaxWait(max(wait, 10*time.Millisecond)))
		})
		if len(got) > 0 || err != nil {
			return got, err
		}
	}
}

// fetch requests messages and processes the answer.
func (s *Source) fetch(ctx context.Context, ask func() (jetstream.MessageBatch, error)) ([]worker.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	asked, err := ask()
	if err != nil {
		return nil, s.ended(err)
	}
	var got []worker.Message
	for {
		select {
		case m, more := <-asked.Messages():
			if !more {
				if err := asked.Error(); err != nil && len(got) == 0 {
					return nil, s.ended(err)
				}
				return got, nil
			}
			if message, err := s.take(m); err != nil {
				s.cfg.Log.Warn("a message has no stream metadata", "stream", s.cfg.Stream, "err", err)
			} else {
				got = append(got, message)
			}
		case <-ctx.Done():
			s.works.Go(func() { // return late messages at once
				for m := range asked.Messages() {
					_ = m.Nak() // otherwise the server waits for AckWait
				}
			})
			if len(got) > 0 {
				return got, nil
			}
			return nil, ctx.Err()
		}
	}
}

// ended marks an error of a request as permanent if it is.
func (s *Source) ended(err error) error {
	told := s.cfg.explain(fmt.Errorf("fetch from stream %s: %w", s.cfg.Stream, err))
	for _, forever := range []error{jetstream.ErrConsumerDeleted, jetstream.ErrConsumerNotFound, jetstream.ErrConsumerDoesNotExist, jetstream.ErrStreamNotFound} {
		if errors.Is(err, forever) {
			return &worker.PermanentError{Err: told}
		}
	}
	if errors.Is(err, nats.ErrNoResponders) && s.conn.IsConnected() { // the only sign of a deleted consumer
		return s.goneOr(told)
	}
	return told
}

// goneOr checks whether the consumer still exists.
func (s *Source) goneOr(told error) error {
	ctx, cancel := context.WithTimeout(context.Background(), askFor)
	defer cancel()
	_, err := s.js.Consumer(ctx, s.cfg.Stream, s.cfg.Consumer)
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return &worker.PermanentError{Err: s.cfg.explain(fmt.Errorf("fetch from stream %s: %w", s.cfg.Stream, err))}
	}
	return told
}

// take holds a message, and converts it for the worker.
func (s *Source) take(m jetstream.Msg) (worker.Message, error) {
	about, err := m.Metadata()
	if err != nil {
		return worker.Message{}, err
	}
	h := &held{message: m, sequence: about.Sequence.Stream, receives: int(about.NumDelivered), lost: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	s.held[s.serial] = h
	out := worker.Message{
		ID: fmt.Sprintf("%s@%d", s.cfg.Stream, h.sequence), Body: m.Data(), Receives: h.receives, Sent: about.Timestamp, Group: m.Subject(),
		Receipt: s.life + "/" + strconv.Itoa(s.serial), Lost: h.lost, Attributes: attributesOf(m.Headers()),
	}
	return out, nil
}

// holding returns a held message. The caller holds the lock.
func (s *Source) holding(m worker.Message) (int, *held, error) {
	life, serial, _ := strings.Cut(m.Receipt, "/")
	n, err := strconv.Atoi(serial)
	if h := s.held[n]; err == nil && life == s.life && h != nil {
		return n, h, nil
	}
	return 0, nil, fmt.Errorf("%w: the message was acknowledged, or belongs to another worker", worker.ErrLost)
}

func (s *Source) drop(m worker.Message) (*held, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, h, err := s.holding(m)
	delete(s.held, n)
	return h, err
}

// Extend checks that the source still holds a message. A background goroutine reports
// progress to the server.
func (s *Source) Extend(_ context.Context, m worker.Message, _ time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _, err := s.holding(m)
	return err
}

// Done acknowledges a message. It returns after the server's confirmation.
func (s *Source) Done(ctx context.Context, m worker.Message) error {
	h, err := s.drop(m)
	if err != nil {
		return err
	}
	if err := h.message.DoubleAck(ctx); err != nil {
		return fmt.Errorf("%w: acknowledge it: %w", worker.ErrLost, err)
	}
	return nil
}

// Release returns a message to the server, which redelivers it after a delay.
func (s *Source) Release(_ context.Context, m worker.Message, r worker.Release) error {
	h, err := s.drop(m)
	if err != nil {
		return err
	}
	if r.Delay > 0 {
		err = h.message.NakWithDelay(r.Delay)
	} else {
		err = h.message.Nak()
	}
	if err != nil {
		return fmt.Errorf("%w: return it: %w", worker.ErrLost, err)
	}
	return nil
}

// keep reports progress on running messages until ctx ends.
func (s *Source) keep(ctx context.Context) {
	tick := time.NewTicker(max(s.ackWait/4, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.beat()
		case <-ctx.Done():
			return
		}
	}
}

// beat reports progress once. It gives up messages if the server heard nothing for too
// long.
func (s *Source) beat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Sub(s.heard) >= s.ackWait && len(s.held) > 0 {
		s.cfg.Log.Warn("the server has not heard from this worker for too long; running messages are stopped and will be delivered again", "stream", s.cfg.Stream, "messages", len(s.held))
		for n, h := range s.held {
			close(h.lost)
			delete(s.held, n)
		}
	}
	if !s.conn.IsConnected() {
		return
	}
	s.heard = now
	for _, h := range s.held {
		if h.message.InProgress() != nil {
			return // the connection reports the error
		}
	}
}

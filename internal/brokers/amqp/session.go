package amqp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// session is one connection with its messages.
type session struct {
	source *Source
	serial int
	conn   *amqp091.Connection
	works  sync.WaitGroup

	publishing sync.Mutex // held while a letter is published
	publisher  *amqp091.Channel
	returned   chan amqp091.Return

	// The source's lock guards the fields below.
	gone      bool
	lost      chan struct{} // closed when gone
	held      map[place]*held
	consumers []*consumer        // consumers that are not cancelled
	channels  []*amqp091.Channel // one channel per consumer
	delayed   int                // held until their delay ends
	balance   chan struct{}
}

// consumer receives messages from the broker, with at most Config.Prefetch unacknowledged.
type consumer struct {
	id        int
	channel   *amqp091.Channel
	cancelled bool // no more messages arrive
	held      int
}

// place identifies a message in a session.
type place struct {
	consumer int
	tag      uint64
}

// held is one unacknowledged message.
type held struct {
	session  *session
	consumer *consumer
	delivery amqp091.Delivery
	place    place
	receives int
	out      bool // handed out
	after    *time.Timer
}

// begin connects and checks the queues.
func (s *Source) begin(serial int) (n *session, err error) {
	conn, err := s.cfg.Dial(context.Background(), "bezoar work")
	if err != nil {
		return nil, s.cfg.explain(err)
	}
	defer func() {
		if err != nil {
			_ = conn.Close() // unusable
			err = s.cfg.explain(err)
		}
	}()
	if err := s.queues(conn); err != nil {
		return nil, err
	}
	n = &session{
		source: s, serial: serial, conn: conn, lost: make(chan struct{}), held: map[place]*held{}, balance: make(chan struct{}, 1),
		returned: make(chan amqp091.Return, 1),
	}
	if n.publisher, err = conn.Channel(); err != nil {
		return nil, fmt.Errorf("open a channel: %w", err)
	}
	if err := n.publisher.Confirm(false); err != nil {
		return nil, fmt.Errorf("turn on publisher confirms: %w", err)
	}
	n.publisher.NotifyReturn(n.returned)
	return n, n.grow()
}

// queues checks that the queue exists, and declares the dead-letter queue if necessary. It
// uses separate channels, because the broker closes a channel on such an error.
func (s *Source) queues(conn *amqp091.Connection) error {
	there := func(name string) error {
		ch, err := conn.Channel()
		if err != nil {
			return fmt.Errorf("open a channel: %w", err)
		}
		defer func() { _ = ch.Close() }() // it may be closed already
		_, err = ch.QueueDeclarePassive(name, false, false, false, false, nil)
		return err
	}
	if err := there(s.cfg.Queue); err != nil {
		return fmt.Errorf("look up queue %s: %w", s.cfg.Queue, err)
	}
	err := there(s.cfg.DeadLetter)
	if answer, ok := errors.AsType[*amqp091.Error](err); !ok || answer.Code != amqp091.NotFound {
		return err
	}
	ch, err := conn.Channel()
	if err != nil {
		return fmt.Errorf("open a channel: %w", err)
	}
	defer func() { _ = ch.Close() }() // it may be closed already
	if _, err := ch.QueueDeclare(s.cfg.DeadLetter, true, false, false, false, nil); err != nil {
		return fmt.Errorf("declare the dead-letter queue %s: %w", s.cfg.DeadLetter, err)
	}
	s.cfg.Log.Info("declared the dead-letter queue", "queue", s.cfg.DeadLetter)
	return nil
}

// start consumes messages until the connection ends.
func (n *session) start() {
	closed := n.conn.NotifyClose(make(chan *amqp091.Error, 1))
	n.works.Go(func() {
		if err := <-closed; err != nil {
			n.end(err)
		} else {
			n.end(nil)
		}
	})
	n.works.Go(n.balanced)
}

// end ends the session once, and stops its running messages.
func (n *session) end(why error) {
	s := n.source
	s.mu.Lock()
	if n.gone {
		s.mu.Unlock()
		return
	}
	n.gone = true
	close(n.lost)
	for _, h := range n.held {
		if h.after != nil {
			h.after.Stop()
		}
	}
	if s.session == n {
		s.session = nil
	}
	closing, channels := s.closed, n.channels
	s.mu.Unlock()
	signal(s.wake)
	if closing { // closing a channel waits for the acknowledgements before it; closing the connection may not
		silent := time.AfterFunc(endFor, func() { _ = n.conn.CloseDeadline(time.Now()) })
		defer silent.Stop()
		for _, ch := range channels {
			_ = ch.Close() // it may be closed already
		}
	}
	if why != nil && !closing {
		s.cfg.Log.Warn("the connection has ended: running messages are stopped and delivered again", "queue", s.cfg.Queue, "err", why)
	}
	_ = n.conn.CloseDeadline(time.Now().Add(endFor)) // it may be closed already
}

// balanced opens and closes consumers to match the number of delayed messages.
func (n *session) balanced() {
	s := n.source
	for {
		select {
		case <-n.lost:
			return
		case <-n.balance:
		}
		s.mu.Lock()
		want := 1 + min(n.delayed, maxDelayed)/s.cfg.Prefetch
		have := len(n.consumers)
		s.mu.Unlock()
		var err error
		switch {
		case want > have:
			err = n.grow()
			signal(n.balance) // another round may be necessary
		case want < have && want == 1:
			err = n.shrink()
			signal(n.balance)
		}
		if err != nil {
			n.end(err)
			return
		}
	}
}

// grow opens a consumer.
func (n *session) grow() error {
	s := n.source
	ch, err := n.conn.Channel()
	if err != nil {
		return fmt.Errorf("open a channel: %w", err)
	}
	if err := ch.Qos(s.cfg.Prefetch, 0, false); err != nil {
		return fmt.Errorf("set the prefetch: %w", err)
	}
	s.mu.Lock()
	n.channels = append(n.channels, ch)
	c := &consumer{id: len(n.channels), channel: ch}
	n.consumers = append(n.consumers, c)
	s.mu.Unlock()
	deliveries, err := ch.Consume(s.cfg.Queue, c.name(), false, false, false, false, nil)
	if err != nil {
		return fmt.Errorf("consume from %s: %w", s.cfg.Queue, err)
	}
	n.works.Go(func() { n.consume(c, deliveries) })
	return nil
}

func (c *consumer) name() string { return "bezoar-" + strconv.Itoa(c.id) }

// shrink cancels the newest consumer. Its channel closes when none of its messages is held.
func (n *session) shrink() error {
	s := n.source
	s.mu.Lock()
	c := n.consumers[len(n.consumers)-1]
	n.consumers = n.consumers[:len(n.consumers)-1]
	c.cancelled = true
	s.mu.Unlock()
	if err := c.channel.Cancel(c.name(), false); err != nil {
		return fmt.Errorf("cancel a consumer: %w", err)
	}
	return nil
}

func (n *session) consume(c *consumer, deliveries <-chan amqp091.Delivery) {
	s := n.source
	for d := range deliveries {
		s.mu.Lock()
		h := &held{session: n, consumer: c, delivery: d, place: place{c.id, d.DeliveryTag}, receives: deliveriesBefore(d)}
		n.held[h.place] = h
		c.held++
		s.makeReady(h)
		s.mu.Unlock()
	}
	s.mu.Lock()
	cancelled := c.cancelled
	over := cancelled && c.held == 0
	s.mu.Unlock()
	switch {
	case !cancelled:
		n.end(errors.New("the broker cancelled the consumer: the queue was deleted, or a message ran longer than the broker's consumer_timeout"))
	case over:
		_ = c.channel.Close() // otherwise it ends with the connection
	}
}

// drop removes a message. It reports whether this was the last message of a cancelled
// consumer. The caller holds the source's lock.
func (n *session) drop(h *held) (last bool) {
	delete(n.held, h.place)
	h.consumer.held--
	return h.consumer.cancelled && h.consumer.held == 0
}

// publish publishes a message to a queue, and returns after the broker's confirmation.
func (n *session) publish(ctx context.Context, queue string, p amqp091.Publishing) error {
	n.publishing.Lock()
	defer n.publishing.Unlock()
	select { // a leftover of a publish that did not wait
	case <-n.returned:
	default:
	}
	confirmed, err := n.publisher.PublishWithDeferredConfirmWithContext(ctx, "", queue, true, false, p)
	if err != nil {
		return err
	}
	acked, err := confirmed.WaitContext(ctx)
	if err != nil {
		return err
	}
	select {
	case r := <-n.returned: // arrives before the confirmation
		return fmt.Errorf("the broker returned the message: %d %s", r.ReplyCode, r.ReplyText)
	default:
	}
	if !acked {
		return errors.New("the broker refused the message")
	}
	return nil
}

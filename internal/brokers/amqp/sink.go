package amqp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/outbox/outgoing"
	"github.com/bezoar-dev/bezoar/outbox"
)

const (
	waveMost   = 500 // unconfirmed messages
	confirmFor = 30 * time.Second
	maxShort   = 255 // bytes of names, routing keys and some properties
)

// SinkConfig says where events go. Brokers and Source are required.
type SinkConfig struct {
	Client
	Exchange string // "": the default one, whose routing keys are queues
	// RoutingKey may have {topic}, {key}, {type} and {id} in it; default {topic}.
	RoutingKey string
	Optional   bool   // an event for which there is no queue is dropped
	Source     string // of the CloudEvents
}

// Sink is an exchange as a sink of an outbox. Make it with [NewSink].
//
// Messages are persistent and mandatory, and have been delivered when the broker has
// confirmed them. A broker may refuse one message and take the next one, so the next
// event of a key is sent when the one before it was confirmed.
type Sink struct {
	cfg  SinkConfig
	turn chan struct{} // has one in it while somebody sends
	line *line         // nil: not connected
	most int           // bytes of a body, as the broker has said; 0: it has not
}

// line is a connection for sending.
type line struct {
	conn     *amqp091.Connection
	channel  *amqp091.Channel
	returned chan amqp091.Return
	closed   chan *amqp091.Error
}

// SinkFromURL reads amqp://HOST[,HOST…]/EXCHANGE, or amqps://. Its parameters are
// routing_key, mandatory, vhost and those of [brokers.Address.TLS].
func SinkFromURL(text, source string, getenv func(string) string) (*Sink, error) {
	port := "5672"
	if strings.HasPrefix(text, "amqps:") {
		port = "5671"
	}
	a, err := brokers.Parse(text, port, getenv)
	if err != nil {
		return nil, err
	}
	c := SinkConfig{Exchange: a.Name, RoutingKey: a.Param("routing_key"), Source: source}
	if c.Client, err = ClientFrom(&a); err != nil {
		return nil, err
	}
	switch v := a.Param("mandatory"); v {
	case "", "true":
	case "false":
		c.Optional = true
	default:
		return nil, fmt.Errorf("mandatory=%.100s is neither true nor false", v)
	}
	if err := a.Rest(); err != nil {
		return nil, err
	}
	return NewSink(c)
}

// NewSink returns a sink. It connects to nothing.
func NewSink(c SinkConfig) (*Sink, error) {
	c.RoutingKey = cmp.Or(c.RoutingKey, "{topic}")
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Sink{cfg: c, turn: make(chan struct{}, 1)}, nil
}

// Validate reports every field that is at fault.
func (c SinkConfig) Validate() error {
	var errs faults.List
	errs.If(len(c.Brokers) == 0, "Brokers: is missing")
	errs.If(len(c.Exchange) > maxShort, "Exchange: %.100q is not the name of an exchange", c.Exchange)
	errs.In(outgoing.CheckTemplate(c.RoutingKey), "routing_key")
	errs.If(c.Source == "", "Source: is missing")
	return errors.Join(errs...)
}

// Close ends the connection.
func (s *Sink) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.drop()
	return nil
}

// drop ends the connection. The caller has the turn.
func (s *Sink) drop() {
	if s.line != nil {
		_ = s.line.conn.CloseDeadline(time.Now().Add(time.Second)) // it may have ended already
		s.line = nil
	}
}

// Send publishes records, and returns when the broker has confirmed them.
func (s *Sink) Send(ctx context.Context, records []outbox.Record) []error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return outgoing.Failed(records, ctx.Err())
	}
	return outgoing.Waves(ctx, records, waveMost, s.check, func(ctx context.Context, wave []*outbox.Record) []error {
		results := s.wave(ctx, wave)
		if s.line != nil || ctx.Err() != nil || !s.learned(wave) {
			return results
		}
		// The broker has ended the channel for one that is too large. Now we know which.
		var rest []*outbox.Record
		var at []int
		for i, r := range wave {
			if results[i] = s.check(r); results[i] == nil {
				rest, at = append(rest, r), append(at, i)
			}
		}
		for k, err := range s.wave(ctx, rest) {
			results[at[k]] = err
		}
		return results
	})
}

// learned reports whether a record is larger than the broker takes.
func (s *Sink) learned(wave []*outbox.Record) bool {
	for _, r := range wave {
		if s.most > 0 && len(r.Payload) > s.most {
			return true
		}
	}
	return false
}

// check refuses what AMQP has no place for.
func (s *Sink) check(r *outbox.Record) error {
	if s.most > 0 && len(r.Payload) > s.most {
		return outgoing.Refused("its payload of %d bytes is larger than the %d that the broker takes", len(r.Payload), s.most)
	}
	if key := outgoing.Expand(s.cfg.RoutingKey, r); len(key) > maxShort {
		return outgoing.Refused("its routing key of %d bytes is longer than %d", len(key), maxShort)
	}
	for name, value := range r.Headers {
		if len(name) > maxShort || name == "" {
			return outgoing.Refused("the name of its header %.100q is not within 1 to %d bytes", name, maxShort)
		}
		if kind := outgoing.ContentType(r); len(kind) > maxShort {
			return outgoing.Refused("its content type %.100q is longer than %d bytes", value, maxShort)
		}
	}
	return outgoing.CheckTexts(r)
}

// wave publishes records, and waits for what becomes of them.
func (s *Sink) wave(ctx context.Context, wave []*outbox.Record) []error {
	if len(wave) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, confirmFor)
	defer cancel()
	if s.line == nil {
		l, err := s.connect(ctx)
		if err != nil {
			return outgoing.All(len(wave), err)
		}
		s.line = l
	}
	l := s.line
	// A broker that is short of memory does not read, and a write has no other end.
	defer context.AfterFunc(ctx, func() { _ = l.conn.CloseDeadline(time.Now()) })()
	for len(l.returned) > 0 { // of a wave that we did not wait for
		<-l.returned
	}
	confirms := make([]*amqp091.DeferredConfirmation, len(wave))
	for i, r := range wave {
		var err error
		if confirms[i], err = l.channel.PublishWithDeferredConfirmWithContext(ctx, s.cfg.Exchange, outgoing.Expand(s.cfg.RoutingKey, r), !s.cfg.Optional, false, s.publishing(r)); err != nil {
			if why := s.ended(ctx, errors.Is(err, amqp091.ErrClosed)); why != nil {
				err = why
			}
			s.drop()
			return outgoing.All(len(wave), fmt.Errorf("publish: %w", err))
		}
	}
	results := make([]error, len(wave))
	var why error // the line has ended
	for i, c := range confirms {
		acked, err := c.WaitContext(ctx)
		if err == nil && acked {
			continue
		}
		if why == nil {
			why = s.ended(ctx, false)
		}
		if results[i] = why; why == nil {
			results[i] = errors.New("the broker has refused it: is a queue full?")
		}
	}
	s.unroutable(wave, results)
	return results
}

// unroutable notes what came back. It came before it was confirmed.
func (s *Sink) unroutable(wave []*outbox.Record, results []error) {
	if s.line == nil {
		return
	}
	back := map[string]amqp091.Return{}
	for len(s.line.returned) > 0 {
		r, open := <-s.line.returned
		if !open {
			break
		}
		back[r.MessageId] = r
	}
	for i, r := range wave {
		if b, ok := back[r.ID]; ok && results[i] == nil {
			results[i] = &brokers.Error{
				Kind: brokers.Missing, Err: fmt.Errorf("exchange %q has no queue for routing key %q (%s)", b.Exchange, b.RoutingKey, b.ReplyText),
				Fix: "bind a queue to it, or drop such events with ?mandatory=false",
			}
		}
	}
}

// ended drops a connection that has ended, or whose context has, and says why. It is nil
// if it goes on. With certain, it has ended, and the reason may come a moment later: the
// library refuses to publish on a channel before it says why.
func (s *Sink) ended(ctx context.Context, certain bool) error {
	var why *amqp091.Error
	select {
	case why = <-s.line.closed:
	default:
		if !certain && ctx.Err() == nil {
			return nil
		}
		select {
		case why = <-s.line.closed:
		case <-ctx.Done():
		}
	}
	s.drop()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("publish: %w", ctx.Err())
	case why == nil:
		return errors.New("publish: the connection has ended")
	}
	if m := tooLarge.FindStringSubmatch(why.Reason); m != nil {
		s.most, _ = strconv.Atoi(m[1]) // digits are a number
	}
	return s.cfg.explainSink(why)
}

// tooLarge is what RabbitMQ says about a message.
var tooLarge = regexp.MustCompile(`larger than (?:configured )?max(?:imum)? size '?(\d{1,18})`)

// explainSink says what to do about an error, if that is known.
func (c SinkConfig) explainSink(err error) error {
	if answer, ok := errors.AsType[*amqp091.Error](err); ok && answer.Code == amqp091.NotFound {
		return &brokers.Error{Kind: brokers.Missing, Err: err, Fix: "declare the exchange " + c.Exchange + "; is its name spelled right, and the virtual host in ?vhost=?"}
	}
	return c.explain(err)
}

// connect opens a channel that confirms.
func (s *Sink) connect(ctx context.Context) (*line, error) {
	conn, err := s.cfg.Dial(ctx, "bezoar outbox")
	if err != nil {
		return nil, s.cfg.explainSink(err)
	}
	// What follows waits for the broker, and has no other end.
	stop := context.AfterFunc(ctx, func() { _ = conn.CloseDeadline(time.Now()) })
	defer stop()
	l := &line{conn: conn, returned: make(chan amqp091.Return, waveMost), closed: make(chan *amqp091.Error, 1)}
	if l.channel, err = conn.Channel(); err == nil {
		l.channel.NotifyReturn(l.returned)
		l.channel.NotifyClose(l.closed)
		err = l.channel.Confirm(false)
	}
	if err != nil {
		_ = conn.CloseDeadline(time.Now().Add(time.Second)) // it is of no use
		return nil, s.cfg.explainSink(fmt.Errorf("open a channel: %w", err))
	}
	return l, nil
}

// publishing is an event as a message. Its attributes are headers that begin with ce-.
func (s *Sink) publishing(r *outbox.Record) amqp091.Publishing {
	p := amqp091.Publishing{
		Headers: amqp091.Table{}, ContentType: outgoing.ContentType(r), DeliveryMode: amqp091.Persistent, MessageId: r.ID,
		Timestamp: r.Written, Type: outgoing.TypeOf(r), Body: r.Payload,
	}
	for _, h := range outgoing.Headers(r) {
		p.Headers[h.Name] = h.Value
	}
	for _, a := range outgoing.Attributes(r, s.cfg.Source) {
		p.Headers["ce-"+a.Name] = a.Value
	}
	return p
}

package amqp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/outbox/outgoing"
	"github.com/bezoar-dev/bezoar/outbox"
)

const (
	waveMost   = 500 // maximum number of unconfirmed messages
	confirmFor = 30 * time.Second
	maxShort   = 255 // maximum bytes of names, routing keys and some properties
)

// SinkConfig configures a sink. Brokers and Source are required.
type SinkConfig struct {
	Client
	Exchange string // empty: the default exchange, whose routing keys are queue names
	// RoutingKey may contain {topic}, {key}, {type} and {id}; default {topic}.
	RoutingKey string
	Optional   bool   // drop events for which there is no queue
	Source     string // CloudEvents source
}

// Sink sends events of an outbox to an exchange. Create it with [NewSink].
//
// Messages are persistent and mandatory. They count as delivered after the broker's
// confirmation. The broker may refuse one message and accept the next, so the sink sends
// the next event of a key only after the previous one was confirmed.
type Sink struct {
	cfg  SinkConfig
	turn chan struct{} // holds one value while a call sends
	line *line         // nil: not connected
	most int           // maximum body size in bytes, as the broker reported; 0: unknown
}

// line is a connection for publishing.
type line struct {
	conn     *amqp091.Connection
	channel  *amqp091.Channel
	returned chan amqp091.Return
	closed   chan *amqp091.Error
}

// SinkFromURL parses amqp://HOST[,HOST…]/EXCHANGE, or amqps://. The parameters are
// routing_key, mandatory, vhost and those of [brokers.Address.TLS].
func SinkFromURL(text, source string, getenv func(string) string) (*Sink, error) {
	c, err := brokers.FromURL(text, portOf(text), getenv, func(a *brokers.Address) SinkConfig {
		return SinkConfig{Client: ClientFrom(a), Exchange: a.Name, RoutingKey: a.Param("routing_key"), Source: source, Optional: !a.Flag("mandatory", true)}
	})
	if err != nil {
		return nil, err
	}
	return NewSink(c)
}

// NewSink returns a sink. It does not connect.
func NewSink(c SinkConfig) (*Sink, error) {
	c.RoutingKey = cmp.Or(c.RoutingKey, "{topic}")
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Sink{cfg: c, turn: make(chan struct{}, 1)}, nil
}

// Validate returns one error that names every invalid field, or nil.
func (c SinkConfig) Validate() error {
	var errs faults.List
	errs.If(len(c.Brokers) == 0, "Brokers: missing")
	errs.If(len(c.Exchange) > maxShort, "Exchange: %.100q is not a valid exchange name", c.Exchange)
	errs.In(outgoing.CheckTemplate(c.RoutingKey), "Source: missing")
	errs.If(c.Source == "", "Source: missing")
	return errors.Join(errs...)
}

func (s *Sink) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.drop()
	return nil
}

// drop closes the connection. The caller has the turn.
func (s *Sink) drop() {
	if s.line != nil {
		_ = s.line.conn.CloseDeadline(time.Now().Add(time.Second)) // it may be closed already
		s.line = nil
	}
}

// Send publishes records, and returns after the broker's confirmations.
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
		// The broker closed the channel because of an oversized message. Its error
		// contained the limit.
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

// learned reports whether a record exceeds the broker's limit.
func (s *Sink) learned(wave []*outbox.Record) bool {
	return s.most > 0 && slices.ContainsFunc(wave, func(r *outbox.Record) bool { return len(r.Payload) > s.most })
}

// check refuses records that AMQP cannot represent.
func (s *Sink) check(r *outbox.Record) error {
	if s.most > 0 && len(r.Payload) > s.most {
		return outgoing.Refused("the payload of %d bytes exceeds the broker's limit of %d", len(r.Payload), s.most)
	}
	if key := outgoing.Expand(s.cfg.RoutingKey, r); len(key) > maxShort {
		return outgoing.Refused("the routing key of %d bytes exceeds the limit of %d", len(key), maxShort)
	}
	for name, value := range r.Headers {
		if len(name) > maxShort || name == "" {
			return outgoing.Refused("the header name %.100q must have 1 to %d bytes", name, maxShort)
		}
		if kind := outgoing.ContentType(r); len(kind) > maxShort {
			return outgoing.Refused("the content type %.100q exceeds the limit of %d bytes", value, maxShort)
		}
	}
	return outgoing.CheckTexts(r)
}

// wave publishes records and waits for the confirmations.
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
	// A broker that is short of memory stops reading. Only this deadline ends the write
	// then.
	defer context.AfterFunc(ctx, func() { _ = l.conn.CloseDeadline(time.Now()) })()
	for len(l.returned) > 0 { // leftovers of a wave that did not wait
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
	var why error // reason for the end of the connection
	for i, c := range confirms {
		acked, err := c.WaitContext(ctx)
		if err == nil && acked {
			continue
		}
		if why == nil {
			why = s.ended(ctx, false)
		}
		if results[i] = why; why == nil {
			results[i] = errors.New("the broker refused the message; a queue may be full")
		}
	}
	s.unroutable(wave, results)
	return results
}

// unroutable records the returned messages. The broker returns a message before it confirms
// it.
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
				Fix: "bind a queue to it, or let the broker drop such events with ?mandatory=false",
			}
		}
	}
}

// ended closes a connection that has ended, or whose ctx has ended, and returns the reason.
// It returns nil if the connection still works. Set certain if the connection is known to
// have ended: its reason may arrive a moment later, because the library refuses to publish
// before it reports the reason.
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
		s.most, _ = strconv.Atoi(m[1]) // only digits
	}
	return s.cfg.explainSink(why)
}

// tooLarge matches RabbitMQ's error about an oversized message.
var tooLarge = regexp.MustCompile(`larger than (?:configured )?max(?:imum)? size '?(\d{1,18})`)

// explainSink adds advice to known errors.
func (c SinkConfig) explainSink(err error) error {
	if answer, ok := errors.AsType[*amqp091.Error](err); ok && answer.Code == amqp091.NotFound {
		return &brokers.Error{Kind: brokers.Missing, Err: err, Fix: "declare the exchange " + c.Exchange + "; check its name, and the virtual host in ?vhost="}
	}
	return c.explain(err)
}

// connect opens a channel with publisher confirms.
func (s *Sink) connect(ctx context.Context) (*line, error) {
	conn, err := s.cfg.Dial(ctx, "bezoar outbox")
	if err != nil {
		return nil, s.cfg.explainSink(err)
	}
	// The calls below wait for the broker. Only this deadline ends them.
	stop := context.AfterFunc(ctx, func() { _ = conn.CloseDeadline(time.Now()) })
	defer stop()
	l := &line{conn: conn, returned: make(chan amqp091.Return, waveMost), closed: make(chan *amqp091.Error, 1)}
	if l.channel, err = conn.Channel(); err == nil {
		l.channel.NotifyReturn(l.returned)
		l.channel.NotifyClose(l.closed)
		err = l.channel.Confirm(false)
	}
	if err != nil {
		_ = conn.CloseDeadline(time.Now().Add(time.Second)) // unusable
		return nil, s.cfg.explainSink(fmt.Errorf("open a channel: %w", err))
	}
	return l, nil
}

// publishing converts an event to a message. The attributes become headers with the prefix
// ce-.
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

package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/outbox/outgoing"
	"github.com/bezoar-dev/bezoar/outbox"
)

const (
	waveMost   = 256 // maximum number of unacknowledged messages
	publishFor = 30 * time.Second
)

// SinkConfig configures a sink. Servers, Subject and Source are required.
type SinkConfig struct {
	Client
	Subject string // may contain {topic}, {key}, {type} and {id}
	Stream  string // stream that must store the messages; empty: any
	Source  string // CloudEvents source
}

// Sink sends events of an outbox to a subject of a stream. Create it with [NewSink].
//
// An event counts as delivered after a stream has acknowledged it. The event's ID is the
// Nats-Msg-Id, so the stream drops repeated deliveries within its duplicate window. A
// stream may refuse one message and accept the next, so the sink sends the next event of a
// key only after the previous one was acknowledged.
type Sink struct {
	cfg  SinkConfig
	turn chan struct{} // holds one value while a call sends
	conn *nats.Conn    // nil before the first connection
	js   jetstream.JetStream
}

// SinkFromURL parses nats://HOST[,HOST…]/SUBJECT. The parameters are stream, creds and
// those of [brokers.Address.TLS].
func SinkFromURL(text, source string, getenv func(string) string) (*Sink, error) {
	c, err := brokers.FromURL(text, port, getenv, func(a *brokers.Address) SinkConfig {
		return SinkConfig{Client: ClientFrom(a), Subject: a.Name, Stream: a.Param("stream"), Source: source}
	})
	if err != nil {
		return nil, err
	}
	return NewSink(c)
}

// NewSink returns a sink. It does not connect.
func NewSink(c SinkConfig) (*Sink, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Sink{cfg: c, turn: make(chan struct{}, 1)}, nil
}

// Validate returns one error that names every invalid field, or nil.
func (c SinkConfig) Validate() error {
	var errs faults.List
	errs.If(len(c.Servers) == 0, "Servers: missing")
	if err := outgoing.CheckTemplate(c.Subject); err != nil {
		errs.Add("Subject: %w", err)
	} else if !isSubject(outgoing.Expand(c.Subject, &outbox.Record{Event: outbox.Event{ID: "x", Topic: "x", Key: "x"}})) {
		errs.Add("Subject: %.100q is not a valid subject for publishing", c.Subject)
	}
	errs.If(c.Stream != "" && !legalName.MatchString(c.Stream), "stream: %.100q is not a valid stream name", c.Stream)
	errs.If(c.Source == "", "Source: missing")
	return errors.Join(errs...)
}

// isSubject reports whether messages can be published to s.
func isSubject(s string) bool {
	for token := range strings.SplitSeq(s, ".") {
		if token == "" || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c == '*' || c == '>' || c == 0x7f }) {
			return false
		}
	}
	return true
}

func (s *Sink) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
	return nil
}

// Send publishes records. It returns after a stream has acknowledged them.
func (s *Sink) Send(ctx context.Context, records []outbox.Record) []error {
	if len(records) == 0 {
		return nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return outgoing.Failed(records, ctx.Err())
	}
	if err := s.connect(ctx); err != nil {
		return outgoing.Failed(records, err)
	}
	return outgoing.Waves(ctx, records, waveMost, s.check, s.wave)
}

func (s *Sink) connect(ctx context.Context) error {
	if s.conn != nil {
		return nil
	}
	conn, err := s.cfg.dial(ctx)
	if err != nil {
		return err
	}
	if s.js, err = jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(2*waveMost), jetstream.WithPublishAsyncTimeout(publishFor)); err != nil {
		conn.Close()
		return fmt.Errorf("use JetStream: %w", err)
	}
	s.conn = conn
	return nil
}

// check refuses records that NATS cannot represent.
func (s *Sink) check(r *outbox.Record) error {
	if subject := outgoing.Expand(s.cfg.Subject, r); !isSubject(subject) {
		return outgoing.Refused("%.200q is not a valid subject: a key or type in it is empty, or contains a space, * or >", subject)
	}
	if err := outgoing.CheckHeaders(r); err != nil {
		return err
	}
	return outgoing.CheckTexts(r)
}

// wave publishes records and waits for the acknowledgements.
func (s *Sink) wave(ctx context.Context, wave []*outbox.Record) []error {
	results := make([]error, len(wave))
	sent := make([]jetstream.PubAckFuture, len(wave))
	for i, r := range wave {
		options := []jetstream.PublishOpt{jetstream.WithMsgID(r.ID)}
		if s.cfg.Stream != "" {
			options = append(options, jetstream.WithExpectStream(s.cfg.Stream))
		}
		sent[i], results[i] = s.js.PublishMsgAsync(s.message(r), options...)
	}
	for i, f := range sent {
		if results[i] == nil {
			select {
			case <-f.Ok():
			case results[i] = <-f.Err():
			case <-ctx.Done():
				results[i] = ctx.Err()
			}
		}
		results[i] = s.judge(results[i], wave[i])
	}
	return results
}

// judge decides whether the event or the server caused an error.
func (s *Sink) judge(err error, r *outbox.Record) error {
	api, answered := errors.AsType[*jetstream.APIError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrMaxPayload):
		return outgoing.Refused("the message exceeds the server's limit of %d bytes", s.conn.MaxPayload())
	case answered && api.ErrorCode == jetstream.JSErrCodeStreamMessageExceedsMaximum:
		return outgoing.Refused("the message exceeds the stream's limit: the payload has %d bytes", len(r.Payload))
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		return &brokers.Error{
			Kind: brokers.Missing, Err: fmt.Errorf("no stream has subject %s", outgoing.Expand(s.cfg.Subject, r)),
			Fix: "create one with nats stream add, and check that JetStream is enabled",
		}
	}
	return fmt.Errorf("publish: %w", s.cfg.explain(err))
}

// message converts an event to a message, according to CloudEvents for NATS.
func (s *Sink) message(r *outbox.Record) *nats.Msg {
	m := nats.NewMsg(outgoing.Expand(s.cfg.Subject, r))
	m.Data = r.Payload
	for _, h := range outgoing.Headers(r) {
		if !strings.HasPrefix(strings.ToLower(h.Name), "nats-") { // not an instruction to the server
			m.Header[h.Name] = []string{h.Value}
		}
	}
	for _, a := range outgoing.Attributes(r, s.cfg.Source) {
		m.Header["ce-"+a.Name] = []string{a.Value}
	}
	m.Header["content-type"] = []string{outgoing.ContentType(r)}
	return m
}

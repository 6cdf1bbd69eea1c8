package amqp

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/outbox/outgoing"
	"github.com/bezoar-dev/bezoar/internal/outbox/sinks/sinktest"
	"github.com/bezoar-dev/bezoar/outbox"
)

// target is an exchange with a queue, of one test alone.
type target struct {
	*rig
	exchange string
	read     []sinktest.Delivery
}

func newTarget(t *testing.T, args amqp091.Table) *target {
	t.Helper()
	r := newRig(t, args)
	exchange := "x-" + r.cfg.Queue
	p := &target{rig: r, exchange: exchange}
	if _, err := r.channel.QueueDeclare(r.cfg.Queue+"-dlq", true, false, false, false, nil); err != nil { // which the rig deletes
		t.Fatal(err)
	}
	err := r.channel.ExchangeDeclare(p.exchange, "topic", true, false, false, false, nil)
	if err == nil {
		err = r.channel.QueueBind(r.cfg.Queue, "orders.#", p.exchange, false, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.channel.ExchangeDelete(exchange, false, false) })
	return p
}

func (p *target) sink(t *testing.T, more string) *Sink {
	t.Helper()
	s, err := SinkFromURL(os.Getenv("BEZOAR_TEST_RABBITMQ")+"/"+url.PathEscape(p.exchange)+more, sinktest.Source, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (p *target) Sink(t *testing.T) outbox.Sink { t.Helper(); return p.sink(t, "") }

func (p *target) Delivered(t *testing.T) []sinktest.Delivery {
	t.Helper()
	for {
		m, ok, err := p.channel.Get(p.cfg.Queue, true)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return p.read
		}
		if m.DeliveryMode != amqp091.Persistent || m.Headers["ce-specversion"] != "1.0" || m.Headers["ce-id"] != m.MessageId || m.Type != m.Headers["ce-type"] {
			t.Errorf("it came as %+v", m)
		}
		d := sinktest.Delivery{ID: m.MessageId, Type: m.Type, Headers: map[string]string{}, Payload: m.Body}
		for name, value := range m.Headers {
			text := fmt.Sprint(value)
			switch name {
			case "ce-topic":
				d.Topic = text
			case "ce-subject":
				d.Key = text
			case "ce-source":
				d.Source = text
			default:
				if !strings.HasPrefix(name, "ce-") {
					d.Headers[name] = text
				}
			}
		}
		p.read = append(p.read, d)
	}
}

func TestSinkConformance(t *testing.T) {
	t.Parallel()
	sinktest.Run(t, sinktest.Traits{
		At: func(t *testing.T, address string) outbox.Sink {
			t.Helper()
			s, err := SinkFromURL("amqp://"+address+"/x", sinktest.Source, nil)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Invalid: func(r *outbox.Record) { r.Headers = map[string]string{strings.Repeat("x-long-", 50): "1"} },
	}, func(t *testing.T) sinktest.Place { t.Helper(); return newTarget(t, nil) })
}

// What RabbitMQ says about a message that is too large ends the channel, and all that is
// under way with it. The others are sent again.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	p := newTarget(t, nil)
	s := p.sink(t, "")
	defer s.Close()
	records := []outbox.Record{sinktest.Record(1, "a"), sinktest.Record(2, "b"), sinktest.Record(3, "b"), sinktest.Record(4, ""), sinktest.Record(5, "a")}
	records[1].Payload = bytes.Repeat([]byte("x"), maxMessageSize+1)
	for i, err := range s.Send(t.Context(), records) {
		switch i {
		case 1:
			if !outgoing.IsRefused(err) || !strings.Contains(err.Error(), fmt.Sprint(maxMessageSize)) {
				t.Errorf("the one that is too large: %v", err)
			}
		case 2:
			if !errors.Is(err, outbox.ErrBehind) {
				t.Errorf("the one behind it: %v", err)
			}
		default:
			if err != nil {
				t.Errorf("record %d: %v", i, err)
			}
		}
	}
	seen := map[string]bool{}
	for _, d := range p.Delivered(t) {
		seen[d.ID] = true
	}
	if len(seen) != 3 {
		t.Errorf("%v are there, want three", seen)
	}
}

// maxMessageSize is what scripts/rabbitmq sets.
const maxMessageSize = 8 << 20

func TestUnroutable(t *testing.T) {
	t.Parallel()
	p := newTarget(t, nil)
	other := sinktest.Record(1, "k")
	other.Topic = "invoices"
	records := []outbox.Record{other, sinktest.Record(2, "k2"), sinktest.Record(3, "k2")}
	s := p.sink(t, "")
	defer s.Close()
	results := s.Send(t.Context(), records)
	b, ok := errors.AsType[*brokers.Error](results[0])
	if !ok || b.Kind != brokers.Missing || !strings.Contains(b.Error(), `"invoices"`) || results[1] != nil || results[2] != nil {
		t.Errorf("it says %v", results)
	}
	optional := p.sink(t, "?mandatory=false")
	defer optional.Close()
	if err := optional.Send(t.Context(), records)[0]; err != nil {
		t.Errorf("a sink that drops such events says %v", err)
	}
}

// A queue that is full refuses, and nothing overtakes what it has refused.
func TestAFullQueue(t *testing.T) {
	t.Parallel()
	p := newTarget(t, amqp091.Table{"x-max-length": int32(2), "x-overflow": "reject-publish"})
	s := p.sink(t, "")
	defer s.Close()
	var records []outbox.Record
	for i := range 6 {
		records = append(records, sinktest.Record(int64(i+1), "k"))
	}
	results := s.Send(t.Context(), records)
	n := 0
	for n < len(results) && results[n] == nil {
		n++
	}
	if n < 2 || n == len(results) || outgoing.IsRefused(results[n]) || errors.Is(results[n], outbox.ErrBehind) {
		t.Fatalf("it says %v", results)
	}
	for _, err := range results[n+1:] {
		if !errors.Is(err, outbox.ErrBehind) {
			t.Errorf("behind what was refused: %v", err)
		}
	}
	if all := p.Delivered(t); len(all) != n {
		t.Errorf("%d are there, want %d", len(all), n)
	}
}

func TestRoutingKeys(t *testing.T) {
	t.Parallel()
	p := newTarget(t, nil)
	s := p.sink(t, "?routing_key=orders.{type}.{key}")
	defer s.Close()
	if err := s.Send(t.Context(), []outbox.Record{sinktest.Record(1, "k")})[0]; err != nil {
		t.Fatal(err)
	}
	m, ok, err := p.channel.Get(p.cfg.Queue, true)
	if err != nil || !ok || m.RoutingKey != "orders.order.paid.k" {
		t.Errorf("its routing key is %q (%v)", m.RoutingKey, err)
	}
	p.exchange = "" // the default one
	s = p.sink(t, "?routing_key="+url.QueryEscape(p.cfg.Queue))
	defer s.Close()
	if err := s.Send(t.Context(), []outbox.Record{sinktest.Record(2, "k")})[0]; err != nil {
		t.Fatal(err)
	}
	if all := p.Delivered(t); len(all) != 1 {
		t.Errorf("%d are there, want 1", len(all))
	}
}

func TestWhereASinkCannotSend(t *testing.T) {
	t.Parallel()
	p := newTarget(t, nil)
	p.exchange = "nowhere-" + p.exchange
	s := p.sink(t, "")
	defer s.Close()
	for range 2 { // it connects again
		err := s.Send(t.Context(), []outbox.Record{sinktest.Record(1, "k")})[0]
		if b, ok := errors.AsType[*brokers.Error](err); !ok || b.Kind != brokers.Missing || !strings.Contains(err.Error(), "nowhere-") {
			t.Errorf("it says %v, want that there is no exchange", err)
		}
	}
	s.cfg.Password = "hushhush"
	s.drop()
	err := s.Send(t.Context(), []outbox.Record{sinktest.Record(1, "k")})[0]
	if b, ok := errors.AsType[*brokers.Error](err); !ok || b.Kind != brokers.Denied || strings.Contains(err.Error(), "hush") {
		t.Errorf("it says %v, want that it may not", err)
	}
	for text, says := range map[string]string{
		"amqp://u:hush@a/x?routing_key={colour}": "placeholder",
		"amqp://u:hush@a/x?mandatory=perhaps":    "mandatory=",
		"amqp://u:hush@a/x?prefetch=3":           "no parameter prefetch",
		"amqp://u:hush@a:port/x":                 "HOST:PORT",
	} {
		if _, err := SinkFromURL(text, "/x", nil); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

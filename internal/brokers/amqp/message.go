package amqp

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/bezoar-dev/bezoar/worker"
)

// receipt identifies one delivery.
type receipt struct {
	life   string
	serial int // of the session
	place  place
}

func (r receipt) String() string {
	return fmt.Sprintf("%s/%d/%d/%d", r.life, r.serial, r.place.consumer, r.place.tag)
}

func parseReceipt(text string) (r receipt, err error) {
	f := strings.Split(text, "/")
	if len(f) != 4 {
		return r, fmt.Errorf("%.100q is not a receipt", text)
	}
	r.life = f[0]
	var errs [3]error
	r.serial, errs[0] = strconv.Atoi(f[1])
	r.place.consumer, errs[1] = strconv.Atoi(f[2])
	r.place.tag, errs[2] = strconv.ParseUint(f[3], 10, 64)
	for _, e := range errs {
		if e != nil {
			return r, fmt.Errorf("%.100q is not a receipt", text)
		}
	}
	return r, nil
}

// deliveriesBefore returns the number of earlier deliveries that the broker reports.
func deliveriesBefore(d amqp091.Delivery) int {
	switch n := d.Headers["x-delivery-count"].(type) { // set by quorum queues
	case int64:
		return int(n)
	case int32:
		return int(n)
	}
	if d.Redelivered {
		return 1
	}
	return 0
}

// message converts a delivery to a worker's message.
func (s *Source) message(h *held) worker.Message {
	d := &h.delivery
	r := receipt{s.life, h.session.serial, h.place}
	m := worker.Message{
		ID: d.MessageId, Body: d.Body, Receives: h.receives, Sent: d.Timestamp, Receipt: r.String(), Lost: h.session.lost,
		Attributes: map[string]worker.Attribute{},
	}
	if m.ID == "" {
		m.ID = fmt.Sprintf("%s-%d.%d@%d", s.life[:6], h.session.serial, h.place.consumer, d.DeliveryTag)
	}
	for name, value := range d.Headers {
		m.Attributes[name] = attribute(value)
	}
	for name, value := range map[string]string{
		"amqp-content-type": d.ContentType, "amqp-content-encoding": d.ContentEncoding, "amqp-correlation-id": d.CorrelationId,
		"amqp-reply-to": d.ReplyTo, "amqp-type": d.Type, "amqp-app-id": d.AppId,
	} {
		if _, used := m.Attributes[name]; value != "" && !used {
			m.Attributes[name] = worker.Attribute{DataType: "String", String: value}
		}
	}
	return m
}

func attribute(value any) worker.Attribute {
	switch v := value.(type) {
	case string:
		return worker.Attribute{DataType: "String", String: v}
	case []byte:
		return worker.Attribute{DataType: "Binary", Binary: v}
	case time.Time:
		return worker.Attribute{DataType: "String", String: v.UTC().Format(time.RFC3339)}
	case int, int8, int16, int32, int64, uint8, uint16, uint32, float32, float64:
		return worker.Attribute{DataType: "Number", String: fmt.Sprint(v)}
	}
	text, err := json.Marshal(value)
	if err != nil {
		text = fmt.Append(nil, value)
	}
	return worker.Attribute{DataType: "String", String: string(text)}
}

const (
	evidence  = "bezoar-" // prefix of headers with the evidence
	maxReason = 1 << 10
	maxStderr = 4 << 10
)

// SetAside parks a message, or a part of it, in the dead-letter queue.
func (s *Source) SetAside(ctx context.Context, m worker.Message, l worker.Letter) error {
	s.mu.Lock()
	h, err := s.find(m)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if err := h.session.publish(ctx, s.cfg.DeadLetter, s.letter(&h.delivery, m, l)); err != nil {
		return fmt.Errorf("park the message in %s: %w", s.cfg.DeadLetter, err)
	}
	return nil
}

// letter builds the dead letter: body, headers and properties of the original message, and
// the evidence. It is persistent and does not expire.
func (s *Source) letter(d *amqp091.Delivery, m worker.Message, l worker.Letter) amqp091.Publishing {
	p := amqp091.Publishing{
		Headers: amqp091.Table{}, ContentType: d.ContentType, ContentEncoding: d.ContentEncoding, DeliveryMode: amqp091.Persistent,
		Priority: d.Priority, CorrelationId: d.CorrelationId, ReplyTo: d.ReplyTo, MessageId: d.MessageId, Timestamp: d.Timestamp,
		Type: d.Type, AppId: d.AppId, Body: d.Body,
	}
	if l.Part {
		p.Body = l.Body
	}
	for name, value := range d.Headers {
		if !strings.HasPrefix(name, evidence) && name != "x-delivery-count" {
			p.Headers[name] = value
		}
	}
	add := func(name, value string) {
		if value != "" {
			p.Headers[evidence+name] = value
		}
	}
	o := l.Outcome
	add("queue", s.cfg.Queue)
	add("exchange", d.Exchange)
	add("routing-key", d.RoutingKey)
	add("message", m.ID)
	add("class", o.Class.String())
	add("attempts", strconv.Itoa(m.Receives))
	add("failure", cut(o.Failure, maxReason))
	add("reason", cut(o.Reason, maxReason))
	add("detail", cut(o.Detail, maxReason))
	add("stderr", o.Stderr[max(len(o.Stderr)-maxStderr, 0):])
	if l.Part {
		add("part", l.Once)
	}
	return p
}

func cut(s string, n int) string { return s[:min(len(s), n)] }

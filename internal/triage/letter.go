package triage

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/queue"
)

// Letter is a dead letter as people and programs see it. In lists it has no
// body, attributes and attempts.
type Letter struct {
	ID       string             `json:"id"`
	Queue    string             `json:"queue"`            // where it is
	Origin   string             `json:"origin,omitempty"` // where it was received from
	Group    string             `json:"group"`            // letters of one cause
	Class    bezoar.Class       `json:"class"`
	Failure  string             `json:"failure,omitempty"`
	Reason   string             `json:"reason,omitempty"`
	Died     time.Time          `json:"died"`
	Sent     time.Time          `json:"sent,omitzero"`
	Receives int                `json:"receives"` // deliveries in the origin, or copies of a request
	Payload  bezoar.Fingerprint `json:"payload,omitzero"`
	InFlight bool               `json:"in_flight,omitempty"` // somebody received it just now
	Version  string             `json:"version"`             // for Edit

	Sender       string               `json:"sender,omitempty"`
	Priority     int                  `json:"priority,omitempty"`
	MessageGroup string               `json:"message_group,omitempty"`
	Lineage      *queue.Lineage       `json:"lineage,omitempty"`
	Discarded    *queue.Discarded     `json:"discarded,omitempty"`
	Attempts     []queue.Attempt      `json:"attempts,omitempty"`
	Attributes   map[string]Attribute `json:"attributes,omitempty"`
	System       map[string]Attribute `json:"system_attributes,omitempty"`
	Body         *Body                `json:"body,omitempty"`
	Damaged      bool                 `json:"damaged,omitempty"` // body and attributes have changed in the store, as by a bad disk
}

// Attribute is a typed value beside a body.
type Attribute struct {
	Type   string `json:"type"` // String, Number or Binary, perhaps with a dot and a label
	Value  string `json:"value,omitempty"`
	Binary []byte `json:"binary,omitempty"`
	Masked bool   `json:"masked,omitempty"` // the value is a secret, and Value is Masked
}

// Masked stands for a value that is not shown. In an edit it means the value
// that the letter has.
const Masked = bezoar.Redacted

// Body is what a message says: as text if that is all it is, else in base64.
type Body struct {
	Text   *string `json:"text,omitempty"`
	Base64 []byte  `json:"base64,omitempty"`
	Bytes  int     `json:"bytes"`
}

// NewBody tells text from other bytes: valid UTF-8 without control characters
// but tabs and ends of lines survives every screen and editor.
func NewBody(raw []byte) *Body {
	b := &Body{Bytes: len(raw)}
	text := string(raw)
	control := func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f }
	if utf8.ValidString(text) && strings.IndexFunc(text, control) < 0 {
		b.Text = &text
		return b
	}
	b.Base64 = raw
	return b
}

// outline is a letter as lists show it.
func outline(m queue.Death) Letter {
	l := Letter{
		ID: m.ID, Queue: m.Queue, Sent: m.Sent, Payload: m.Payload, InFlight: m.InFlight, Version: versionOf(m),
		Sender: m.Sender, Priority: m.Priority, MessageGroup: m.Group,
	}
	if m.Lineage != nil {
		l.Lineage = new(*m.Lineage)
		l.Lineage.Attempts = nil // they are among the letter's
	}
	if d := m.Letter; d != nil {
		l.Origin, l.Group, l.Class, l.Failure, l.Reason = d.Origin, d.Group, d.Class, d.Failure, d.Reason
		l.Died, l.Receives, l.Discarded = d.Died, d.Receives, d.Discarded
		if l.Payload.IsZero() {
			l.Payload = d.Payload
		}
	}
	return l
}

// whole is a letter with all there is, but secrets.
func (svc *Service) whole(m queue.Death) Letter {
	l := outline(m)
	l.Body, l.Damaged = NewBody(m.Body), m.Damaged
	l.Attributes, l.System = mask(svc.secret, m.Attributes), mask(svc.secret, m.System)
	if m.Letter != nil {
		l.Attempts = m.Letter.Attempts
	}
	return l
}

// versionOf changes when a letter does: it was received, moved or replaced.
func versionOf(m queue.Death) string {
	return strconv.FormatInt(m.Sequence, 36) + "." + strconv.FormatInt(m.Receipt.Generation, 36)
}

// mask returns attributes without the values of secrets.
func mask(secret redact.Names, in map[string]queue.Attribute) map[string]Attribute {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]Attribute, len(in))
	for name, a := range in {
		if secret.Secret(name) {
			out[name] = Attribute{Type: a.DataType, Value: Masked, Masked: true}
			continue
		}
		out[name] = Attribute{Type: a.DataType, Value: a.String, Binary: a.Binary}
	}
	return out
}

// unmask is the opposite of mask, for what somebody edited: masked values are
// those that the letter has.
func unmask(edited map[string]Attribute, kept map[string]queue.Attribute) (map[string]queue.Attribute, error) {
	out := make(map[string]queue.Attribute, len(edited))
	for name, a := range edited {
		if a.Masked || a.Value == Masked {
			old, ok := kept[name]
			if !ok {
				return nil, invalid("Attributes: %.100q is masked, and the letter has none of that name", name)
			}
			out[name] = old
			continue
		}
		if a.Value != "" && len(a.Binary) > 0 {
			return nil, invalid("Attributes: %.100q has two values", name)
		}
		out[name] = queue.Attribute{DataType: a.Type, String: a.Value, Binary: a.Binary}
	}
	return out, nil
}

// bytes is the body that b describes.
func (b *Body) bytes() ([]byte, error) {
	switch {
	case b.Text != nil && b.Base64 != nil:
		return nil, invalid("Body: is both text and base64")
	case b.Text != nil:
		return []byte(*b.Text), nil
	}
	return b.Base64, nil
}

// String says which letter it is, for logs.
func (l Letter) String() string { return fmt.Sprintf("letter %s in %s", l.ID, l.Queue) }

package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/worker"
)

const (
	evidence  = "bezoar-" // prefix of fields with the evidence
	maxReason = 1 << 10
	maxStderr = 4 << 10
)

// message converts an entry to a worker's message. The caller holds the lock.
func (s *Source) message(h *held) worker.Message {
	m := worker.Message{
		ID: s.cfg.Stream + "@" + h.id, Body: bodyOf(h.values), Receives: h.receives, Lost: h.lost,
		Receipt: fmt.Sprintf("%s/%d/%s", s.name, h.serial, h.id), Attributes: map[string]worker.Attribute{},
	}
	ms, _, _ := strings.Cut(h.id, "-")
	if n, err := strconv.ParseInt(ms, 10, 64); err == nil {
		m.Sent = time.UnixMilli(n)
	}
	if _, there := h.values[dataField]; !there {
		return m // the body has all fields
	}
	for name, text := range h.values {
		switch {
		case name == dataField:
		case utf8.ValidString(text):
			m.Attributes[strings.ToValidUTF8(name, "\uFFFD")] = worker.Attribute{DataType: "String", String: text}
		default:
			m.Attributes[strings.ToValidUTF8(name, "\uFFFD")] = worker.Attribute{DataType: "Binary", Binary: []byte(text)}
		}
	}
	return m
}

// bodyOf returns the field data, or all fields as JSON if it is missing.
func bodyOf(values map[string]string) []byte {
	if data, ok := values[dataField]; ok {
		return []byte(data)
	}
	text, err := json.Marshal(values)
	if err != nil {
		return fmt.Append(nil, values) // cannot happen: all values are strings
	}
	return text
}

// SetAside parks a message, or a part of it, in the dead-letter stream.
func (s *Source) SetAside(ctx context.Context, m worker.Message, l worker.Letter) error {
	s.mu.Lock()
	h, err := s.holding(m)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if _, err := s.client.do(ctx, "XADD", append([]any{s.cfg.DeadLetter, "*"}, s.letter(h, m, l)...)...); err != nil {
		return s.cfg.explain(fmt.Errorf("park the message in %s: %w", s.cfg.DeadLetter, err))
	}
	return nil
}

// letter builds the dead letter: the fields of the original entry, and the evidence.
func (s *Source) letter(h *held, m worker.Message, l worker.Letter) (all []any) {
	for name, value := range h.values {
		if !strings.HasPrefix(name, evidence) && (name != dataField || !l.Part) {
			all = append(all, name, value)
		}
	}
	if l.Part {
		all = append(all, dataField, l.Body)
	}
	add := func(name, value string) {
		if value != "" {
			all = append(all, evidence+name, value)
		}
	}
	o := l.Outcome
	add("stream", s.cfg.Stream)
	add("group", s.cfg.Group)
	add("entry", h.id)
	add("class", o.Class.String())
	add("attempts", strconv.Itoa(m.Receives))
	add("failure", cut(o.Failure, maxReason))
	add("reason", cut(o.Reason, maxReason))
	add("detail", cut(o.Detail, maxReason))
	add("stderr", o.Stderr[max(len(o.Stderr)-maxStderr, 0):])
	if l.Part {
		add("part", l.Once)
	}
	return all
}

func cut(s string, n int) string { return s[:min(len(s), n)] }

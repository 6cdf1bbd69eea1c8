package nats

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bezoar-dev/bezoar/worker"
)

const (
	evidence  = "bezoar-" // prefix of headers with the evidence
	maxReason = 1 << 10
	maxStderr = 4 << 10
)

// attributesOf converts a message's headers. The second value of a name gets the name with
// the suffix #2.
func attributesOf(headers nats.Header) map[string]worker.Attribute {
	all := make(map[string]worker.Attribute, len(headers))
	for name, values := range headers {
		for i, value := range values {
			own := strings.ToValidUTF8(name, "\uFFFD")
			if i > 0 {
				own += "#" + strconv.Itoa(i+1)
			}
			if utf8.ValidString(value) {
				all[own] = worker.Attribute{DataType: "String", String: value}
			} else {
				all[own] = worker.Attribute{DataType: "Binary", Binary: []byte(value)}
			}
		}
	}
	return all
}

// SetAside parks a message, or a part of it, in the dead-letter stream. It returns after
// the stream has stored it.
func (s *Source) SetAside(ctx context.Context, m worker.Message, l worker.Letter) error {
	s.mu.Lock()
	_, h, err := s.holding(m)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	options := []jetstream.PublishOpt{jetstream.WithExpectStream(s.cfg.DeadLetter)}
	if l.Once != "" {
		options = append(options, jetstream.WithMsgID(l.Once))
	}
	letter := s.letter(h, m, l, true)
	_, err = s.js.PublishMsg(ctx, letter, options...)
	if isTooLarge(err) { // without the handler's output it may fit
		letter = s.letter(h, m, l, false)
		_, err = s.js.PublishMsg(ctx, letter, options...)
	}
	switch {
	case err == nil:
		return nil
	case isTooLarge(err):
		return &worker.PermanentError{Err: fmt.Errorf("stream %s does not accept a message of %d bytes: increase its max_msg_size, or the server's max_payload", s.cfg.DeadLetter, letter.Size())}
	}
	return s.cfg.explain(fmt.Errorf("park the message in %s: %w", s.cfg.DeadLetter, err))
}

func isTooLarge(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return errors.Is(err, nats.ErrMaxPayload) || ok && api.ErrorCode == jetstream.JSErrCodeStreamMessageExceedsMaximum
}

// letter builds the dead letter: data and headers of the original message, and the
// evidence. Unless whole is set, it omits the handler's output.
func (s *Source) letter(h *held, m worker.Message, l worker.Letter, whole bool) *nats.Msg {
	out := nats.NewMsg(s.cfg.DeadLetter)
	out.Data = h.message.Data()
	if l.Part {
		out.Data = l.Body
	}
	for name, values := range h.message.Headers() {
		lower := strings.ToLower(name)
		if !strings.HasPrefix(lower, evidence) && !strings.HasPrefix(lower, "nats-") { // such headers are instructions to the server
			out.Header[name] = values
		}
	}
	add := func(name, value string) {
		value = strings.Map(func(c rune) rune { // a header must be one line
			if c == '\r' || c == '\n' {
				return ' '
			}
			return c
		}, strings.ToValidUTF8(value, "\uFFFD"))
		if value != "" {
			out.Header[evidence+name] = []string{strings.TrimSpace(value)}
		}
	}
	o := l.Outcome
	add("stream", s.cfg.Stream)
	add("consumer", s.cfg.Consumer)
	add("sequence", strconv.FormatUint(h.sequence, 10))
	add("subject", h.message.Subject())
	add("class", o.Class.String())
	add("attempts", strconv.Itoa(m.Receives))
	if l.Part {
		add("part", l.Once)
	}
	add("failure", cut(o.Failure, maxReason))
	if whole {
		add("reason", cut(o.Reason, maxReason))
		add("detail", cut(o.Detail, maxReason))
		add("stderr", o.Stderr[max(len(o.Stderr)-maxStderr, 0):])
	}
	return out
}

func cut(s string, n int) string { return s[:min(len(s), n)] }

package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/bezoar-dev/bezoar/worker"
)

const (
	parkFor   = 25 * time.Second // time limit of one attempt
	maxLetter = 64 << 20         // the broker's own limit applies
	evidence  = "bezoar-"        // prefix of headers with the evidence
)

// Limits of headers.
const (
	maxReason = 1 << 10
	maxStderr = 4 << 10
)

// SetAside parks a record, or a part of it, in the dead-letter topic. It returns after all
// in-sync replicas have stored it.
func (s *Source) SetAside(ctx context.Context, m worker.Message, l worker.Letter) error {
	s.mu.Lock()
	e, err := s.find(m)
	var r kgo.Record
	if err == nil {
		r = *e.record
	}
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%w: %w", worker.ErrLost, err)
	}
	letter := s.letter(&r, m, l, true)
	err = s.client.ProduceSync(ctx, letter).FirstErr()
	if errors.Is(err, kerr.MessageTooLarge) { // without the handler's output it is about as large as the original, and fits
		err = s.client.ProduceSync(ctx, s.letter(&r, m, l, false)).FirstErr()
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, kerr.MessageTooLarge):
		return &worker.PermanentError{Err: fmt.Errorf("%s does not accept a record of %d bytes: increase its max.message.bytes", s.cfg.DeadLetter, sizeOf(letter))}
	}
	return s.explain(fmt.Errorf("park the record in %s: %w", s.cfg.DeadLetter, err))
}

// letter builds the dead letter: key, value and headers of the original record, and the
// evidence. Unless whole is set, it omits the handler's output.
func (s *Source) letter(r *kgo.Record, m worker.Message, l worker.Letter, whole bool) *kgo.Record {
	out := &kgo.Record{Topic: s.cfg.DeadLetter, Key: r.Key, Value: r.Value}
	if l.Part {
		out.Value = l.Body
	}
	for _, h := range r.Headers {
		if !strings.HasPrefix(h.Key, evidence) { // not evidence of an earlier dead letter
			out.Headers = append(out.Headers, h)
		}
	}
	add := func(name, value string) {
		if value != "" {
			out.Headers = append(out.Headers, kgo.RecordHeader{Key: evidence + name, Value: []byte(value)})
		}
	}
	o := l.Outcome
	add("topic", s.cfg.Topic)
	add("partition", strconv.Itoa(int(r.Partition)))
	add("offset", strconv.FormatInt(r.Offset, 10))
	add("timestamp", r.Timestamp.UTC().Format("2006-01-02T15:04:05.000Z"))
	add("consumer-group", s.cfg.Group)
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

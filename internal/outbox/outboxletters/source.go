package outboxletters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/outbox"
	"github.com/bezoar-dev/bezoar/queue"
)

// Prefix is the prefix of the queue names under which parked events are listed.
const Prefix = "outbox:"

// IDPrefix is the prefix of letter IDs.
const IDPrefix = "ob-"

// IDLength is the length of a letter ID.
const IDLength = len(IDPrefix) + 8 + 1 + 12

const (
	maxLetters = 10_000 // maximum number of letters in a list
	page       = 1000
	patience   = time.Minute // how long a redrive waits for the event's outcome
	often      = 100 * time.Millisecond
)

// Source lists the parked events of one outbox. It is safe for concurrent use.
type Source struct {
	triage.Listing
	outbox string
	open   func() (outbox.Letters, error)
	log    *slog.Logger

	mu    sync.Mutex // guards the fields below
	known []queue.Death
	away  error // error of the last read; nil if it succeeded
}

var (
	_ triage.Source  = (*Source)(nil)
	_ triage.Editor  = (*Source)(nil)
	_ triage.Distant = (*Source)(nil)
)

// New returns the source of the outbox that is called name in the settings. open returns its letters, or why its database
// is not open yet. log may be nil.
func New(name string, open func() (outbox.Letters, error), log *slog.Logger) *Source {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	s := &Source{outbox: name, open: open, log: log}
	s.Listing = s.all
	return s
}

func (s *Source) Name() string { return Prefix + s.outbox }

// id returns the letter ID of an event. All IDs have the same length, which distinguishes a
// whole ID from a prefix.
func (s *Source) id(position int64) string {
	return fmt.Sprintf("%s%08x-%012x", IDPrefix, hash(s.outbox), position)
}

func hash(text string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(text))
	return h.Sum32()
}

// position extracts the event's position from a letter ID.
func (s *Source) position(id string) (int64, error) {
	digits, ok := strings.CutPrefix(id, fmt.Sprintf("%s%08x-", IDPrefix, hash(s.outbox)))
	position, err := strconv.ParseInt(digits, 16, 64)
	if !ok || err != nil || position < 1 {
		return 0, queue.ErrLetterNotFound
	}
	return position, nil
}

// at reads one undelivered event.
func (s *Source) at(ctx context.Context, position int64) (outbox.Waiting, error) {
	var all []outbox.Waiting
	store, err := s.open()
	if err == nil {
		all, err = store.Waiting(ctx, outbox.Query{After: position - 1, Limit: 1})
	}
	if err != nil {
		return outbox.Waiting{}, fmt.Errorf("read an event of outbox %s: %w", s.outbox, err)
	}
	if len(all) == 0 || all[0].Position != position {
		return outbox.Waiting{}, outbox.ErrNotFound
	}
	return all[0], nil
}

// all returns the selected letters, newest first.
func (s *Source) all(ctx context.Context, sel queue.Selection) ([]queue.Death, error) {
	all, err := s.read(ctx, !sel.ByContent())
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s.mu.Lock()
	if err == nil {
		s.known = all
	} else if all = s.known; s.away == nil {
		s.log.Warn("the database of an outbox does not answer; its parked events are shown as of the last read", "outbox", s.outbox, "err", err)
	}
	s.away = err
	s.mu.Unlock()
	var out []queue.Death
	for _, m := range all {
		if triage.Selects(sel, m) {
			out = append(out, m)
		}
	}
	return out, nil
}

// Unread returns the error of the last read of the parked events, or nil.
func (s *Source) Unread() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.away
}

func (s *Source) read(ctx context.Context, bare bool) ([]queue.Death, error) {
	store, err := s.open()
	if err != nil {
		return nil, err
	}
	var out []queue.Death
	q := outbox.Query{State: outbox.Parked, Limit: page, Bare: bare}
	for len(out) < maxLetters {
		some, err := store.Waiting(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range some {
			out = append(out, s.death(&some[i]))
		}
		if len(some) < page {
			break
		}
		q.After = some[len(some)-1].Position
	}
	triage.Newest(out)
	return out, nil
}

// death converts an event to a dead letter.
func (s *Source) death(w *outbox.Waiting) queue.Death {
	o, at := outcome(w.Evidence), w.Parked
	text := func(v string) queue.Attribute { return queue.Attribute{DataType: "String", String: v} }
	attributes := map[string]queue.Attribute{
		"Event": text(w.ID), "Topic": text(w.Topic), "Type": text(w.Type), "Behind": text(strconv.FormatInt(w.Behind, 10)),
	}
	for name, v := range w.Headers {
		attributes[headerPrefix+name] = text(v)
	}
	letter := &queue.Letter{Origin: s.Name(), Died: at, Receives: w.Attempts, Outcome: o, Group: queue.GroupKey(o, bezoar.Fingerprint{})}
	if w.Evidence != nil {
		letter.Attempts = []queue.Attempt{{Received: w.Evidence.Time, Ended: w.Evidence.Time, Worker: w.Evidence.Relay, Outcome: o}}
	}
	id := s.id(w.Position)
	return queue.Death{Queue: s.Name(), Message: queue.Message{
		ID: id, Body: w.Payload, Sent: w.Written, Sequence: triage.SequenceOf(at, id),
		Group: w.Key, Attributes: attributes, Letter: letter,
	}}
}

// headerPrefix is the prefix of attributes that hold an event's headers.
const headerPrefix = "Header."

// classLost is the class of an event that was in flight when its relay died.
const classLost = "lost"

// outcome converts a failure to an outcome of a queue. The death of the relay becomes a
// crash.
func outcome(e *outbox.Evidence) queue.Outcome {
	if e == nil {
		return queue.Outcome{Class: bezoar.Bug, Reason: "the delivery failed"}
	}
	o := queue.Outcome{Class: bezoar.Bug, Reason: e.Reason}
	if e.Class == classLost {
		o.Class = bezoar.Crash
	} else {
		_ = o.Class.UnmarshalText([]byte(e.Class)) // an unknown class, of a later version, stays a bug
	}
	return o
}

func (s *Source) Letter(ctx context.Context, id string) (queue.Death, error) {
	w, err := s.parked(ctx, id)
	if err != nil {
		return queue.Death{}, err
	}
	return s.death(&w), nil
}

// parked returns the event of a letter.
func (s *Source) parked(ctx context.Context, id string) (outbox.Waiting, error) {
	position, err := s.position(id)
	if err != nil {
		return outbox.Waiting{}, err
	}
	w, err := s.at(ctx, position)
	if err == nil && w.State != outbox.Parked || errors.Is(err, outbox.ErrNotFound) {
		return w, queue.ErrLetterNotFound
	}
	return w, err
}

// Redrive sends one event again, and returns its outcome.
func (s *Source) Redrive(ctx context.Context, id string) (queue.Outcome, error) {
	was, err := s.parked(ctx, id)
	if err != nil {
		return queue.Outcome{}, err
	}
	if err := s.retry(ctx, was.Position); err != nil {
		return queue.Outcome{}, err
	}
	waits, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(often)
	defer tick.Stop()
	for {
		is, err := s.at(ctx, was.Position)
		switch {
		case errors.Is(err, outbox.ErrNotFound):
			return queue.Outcome{Class: bezoar.Done, Reason: "the event was delivered"}, nil
		case err != nil:
			return queue.Outcome{}, err
		case is.Attempts > was.Attempts && (is.State == outbox.Parked || is.State == outbox.Retrying):
			return outcome(is.Evidence), nil
		}
		select {
		case <-tick.C:
		case <-waits.Done():
			if ctx.Err() != nil {
				return queue.Outcome{}, ctx.Err()
			}
			return queue.Outcome{}, errors.New("the event is not sent yet: check that a relay runs and that its sink is reachable. The relay then sends it")
		}
	}
}

func (s *Source) retry(ctx context.Context, position int64) error {
	n := 0
	store, err := s.open()
	if err == nil {
		n, err = store.Retry(ctx, []int64{position})
	}
	if err != nil {
		return fmt.Errorf("retry an event of outbox %s: %w", s.outbox, err)
	}
	if n == 0 {
		return queue.ErrLetterNotFound
	}
	return nil
}

// Discard skips the event, which unblocks later events of its key.
func (s *Source) Discard(ctx context.Context, id string) error {
	w, err := s.parked(ctx, id)
	if err != nil {
		return err
	}
	n := 0
	store, err := s.open()
	if err == nil {
		n, err = store.Skip(ctx, []int64{w.Position})
	}
	if err != nil {
		return fmt.Errorf("skip an event of outbox %s: %w", s.outbox, err)
	}
	if n == 0 {
		return queue.ErrLetterNotFound
	}
	return nil
}

// Edit changes the payload and the headers of an event, and sends it again. The event keeps
// its ID, its key and its position.
func (s *Source) Edit(ctx context.Context, m queue.Death, body []byte, attributes map[string]queue.Attribute) (string, error) {
	position, err := s.position(m.ID)
	if err != nil {
		return "", err
	}
	e := outbox.Edit{Payload: body, Headers: map[string]string{}}
	for name, a := range attributes {
		header, ok := strings.CutPrefix(name, headerPrefix)
		switch {
		case ok:
			e.Headers[header] = a.String
		case name == "Type":
			e.Type = new(a.String)
		case a.String != m.Attributes[name].String:
			return "", fmt.Errorf("the attribute %.60q of an event cannot be changed, only %s… and Type: %w", name, headerPrefix, triage.ErrInvalid)
		}
	}
	if err := e.Validate(); err != nil {
		return "", fmt.Errorf("the edited event is invalid: %w: %w", err, triage.ErrInvalid)
	}
	store, err := s.open()
	if err == nil {
		err = store.Edit(ctx, position, e)
	}
	if errors.Is(err, outbox.ErrNotFound) || errors.Is(err, outbox.ErrNotParked) {
		return "", queue.ErrLetterNotFound
	}
	if errors.Is(err, outbox.ErrGone) {
		return "", fmt.Errorf("%w: %w", err, triage.ErrInvalid)
	}
	if err != nil {
		return "", fmt.Errorf("edit an event of outbox %s: %w", s.outbox, err)
	}
	return m.Attributes["Event"].String, s.retry(ctx, position)
}

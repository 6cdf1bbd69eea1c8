package queue

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// MaxGroups bounds one list of groups.
const MaxGroups = 1000

func (s *Selection) validate() error {
	var class bezoar.Class
	switch {
	case len(s.Groups) > MaxSelected || len(s.IDs) > MaxSelected:
		return invalid("Selection: %d groups and %d ids are more than %d", len(s.Groups), len(s.IDs), MaxSelected)
	case len(s.Queue) > 80 || len(s.Origin) > 80 || !plain(s.Queue, s.Origin):
		return invalid("Selection: Queue or Origin is longer than 80 bytes, or no name")
	case !plain(s.Groups...) || !plain(s.IDs...):
		return invalid("Selection: a group or id holds a NUL, or is no UTF-8")
	case s.Class != "" && class.UnmarshalText([]byte(s.Class)) != nil:
		return invalid("Selection.Class: %.40q is unknown", s.Class)
	case s.Last < 0:
		return invalid("Selection.Last: %d is less than 0", s.Last)
	case !s.After.IsZero() && !s.Before.IsZero() && !s.After.Before(s.Before):
		return invalid("Selection: After is not before Before")
	}
	return s.validateContent()
}

// Groups counts letters by cause, the newest death first. limit is 1 to MaxGroups; 0 means
// MaxGroups.
func (e *Engine) Groups(ctx context.Context, s Selection, limit int) ([]Group, error) {
	limit = cmp.Or(limit, MaxGroups)
	if limit < 0 || limit > MaxGroups {
		return nil, invalid("group letters: limit is %d, want 0 to %d", limit, MaxGroups)
	}
	if err := s.validate(); err != nil {
		return nil, wrap(err, "group letters")
	}
	g, err := e.store.Groups(ctx, s, limit)
	return g, wrap(err, "group letters")
}

// Letters lists letters without their bodies, attributes and attempts, the newest death
// first. after is the Sequence of the last letter of the page before; 0 means from the
// newest on. limit is 1 to MaxBatch; 0 means MaxBatch.
func (e *Engine) Letters(ctx context.Context, s Selection, after int64, limit int) ([]Death, error) {
	limit = cmp.Or(limit, MaxBatch)
	if limit < 0 || limit > MaxBatch || after < 0 {
		return nil, invalid("list letters: limit is %d, want 0 to %d, or after: %d is less than 0", limit, MaxBatch, after)
	}
	if err := s.validate(); err != nil {
		return nil, wrap(err, "list letters")
	}
	d, err := e.store.Letters(ctx, s, after, limit)
	return d, wrap(err, "list letters")
}

// Letter returns one complete letter by the ID of its message, or ErrLetterNotFound.
func (e *Engine) Letter(ctx context.Context, id string) (Death, error) {
	if len(id) > maxGroup || !plain(id) {
		return Death{}, fmt.Errorf("read letter %.40q: %w", id, ErrLetterNotFound)
	}
	d, err := e.store.Letter(ctx, id)
	return d, wrap(err, "read letter %.64q", id)
}

// CountLetters returns how many letters a selection picks, and their largest Sequence.
func (e *Engine) CountLetters(ctx context.Context, s Selection) (n, last int64, err error) {
	if err := s.validate(); err != nil {
		return 0, 0, wrap(err, "count letters")
	}
	n, last, err = e.store.CountLetters(ctx, s)
	return n, last, wrap(err, "count letters")
}

// ResendInput changes a letter on its way back.
type ResendInput struct {
	// Receipt is that of the letter when it was read: ErrConflict if the letter has
	// changed since. Zero means the current one.
	Receipt     Receipt
	Destination string               // a queue; "": the origin of the letter
	Body        []byte               // nil: unchanged
	Attributes  map[string]Attribute // nil: unchanged
	Delay       *time.Duration       // nil: that of the destination
}

// Resend sends a changed copy of a letter with its lineage, and moves the letter to the
// trash, in one step. The copy is a new message with a new ID and no receives. A FIFO
// queue does not take it for a duplicate.
func (e *Engine) Resend(ctx context.Context, id string, in ResendInput) (Sent, error) {
	fail := func(err error) (Sent, error) { return Sent{}, wrap(err, "resend letter %.64q", id) }
	d, err := e.Letter(ctx, id)
	if err != nil {
		return Sent{}, err
	}
	destination := in.Destination
	if destination == "" && d.Letter != nil {
		destination = d.Letter.Origin
	}
	if destination == d.Queue || destination == "" {
		return fail(invalid("Destination: is the queue that the letter is in, or the letter has no origin"))
	}
	q, err := e.store.Queue(ctx, destination)
	if err != nil {
		return fail(fmt.Errorf("Destination: %w", err))
	}
	message, edited := in.apply(&d, q.Settings.FIFO)
	if d.Damaged && bytes.Equal(message.Body, d.Body) {
		return fail(invalid("Body: the letter's is damaged in the store, so that it has to be written anew"))
	}
	r, err := e.rules.of(&q)
	if err != nil {
		e.complain(ctx, "compile the settings of queue "+q.Name, err)
	}
	entry, err := prepare(&q.Settings, &r, message)
	if err != nil {
		return fail(err)
	}
	receipt := in.Receipt
	if receipt == (Receipt{}) {
		receipt = d.Receipt
	}
	sent, err := e.store.Replace(ctx, Replacement{
		Letter: id, Receipt: receipt, Destination: destination, Entry: entry, Lineage: *d.Lineage.Child(id, d.Letter, "", edited),
	})
	if err != nil {
		return fail(err)
	}
	e.hub.wake(destination)
	return sent, nil
}

// apply makes the message that takes a letter's place.
func (in *ResendInput) apply(d *Death, fifo bool) (m SendInput, edited bool) {
	m = SendInput{Body: d.Body, Attributes: d.Attributes, System: d.System, Group: d.Group, Sender: d.Sender, Delay: in.Delay}
	if in.Body != nil {
		edited = !bytes.Equal(in.Body, d.Body)
		m.Body = in.Body
	}
	if in.Attributes != nil {
		edited = edited || len(in.Attributes)+len(d.Attributes) > 0 && !reflect.DeepEqual(in.Attributes, d.Attributes)
		m.Attributes = in.Attributes
	}
	if !fifo {
		m.Priority = d.Priority
		return m, edited
	}
	m.Dedup = NewID()
	m.Group = cmp.Or(m.Group, d.ID)
	return m, edited
}

// Audit appends an entry to the audit log.
func (e *Engine) Audit(ctx context.Context, a AuditEntry) (AuditEntry, error) {
	switch {
	case a.Action == "" || len(a.Action) > maxGroup || len(a.Object) > maxReason || len(a.Actor) > 256:
		return a, invalid("write the audit log: Action is empty, or a field is too long")
	case len(a.Detail) > 16<<10:
		return a, invalid("write the audit log: Detail: %d bytes are more than %d", len(a.Detail), 16<<10)
	case !plain(a.Actor, a.Action, a.Object, a.Error):
		return a, invalid("write the audit log: a field holds a NUL, or is no UTF-8")
	}
	a.Error = strings.ToValidUTF8(a.Error[:min(len(a.Error), maxReason)], "")
	a, err := e.store.Audit(ctx, a)
	return a, wrap(err, "write the audit log")
}

// AuditLog lists entries with a number below before (0: all), the newest first. limit is 1 to 1,000; 0 means 100.
func (e *Engine) AuditLog(ctx context.Context, before int64, limit int) ([]AuditEntry, error) {
	limit = cmp.Or(limit, 100)
	if limit < 0 || limit > 1000 || before < 0 {
		return nil, invalid("read the audit log: limit is %d, want 0 to 1000, or before: %d is less than 0", limit, before)
	}
	a, err := e.store.AuditLog(ctx, before, limit)
	return a, wrap(err, "read the audit log")
}

// Marks returns the small facts that all processes on the store share.
func (e *Engine) Marks() Marks { return e.store }

package queue

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Send stores one message and returns when it is durable.
func (e *Engine) Send(ctx context.Context, queue string, in SendInput) (Sent, error) {
	results, err := e.SendBatch(ctx, queue, []SendInput{in})
	if err != nil {
		return Sent{}, err
	}
	return results[0].Sent, results[0].Err
}

// SendBatch stores messages in order. A faulty entry is refused by itself. All other
// entries are stored together, or none of them if err is set.
func (e *Engine) SendBatch(ctx context.Context, queue string, in []SendInput) ([]SendResult, error) {
	if len(in) == 0 || len(in) > MaxBatch {
		return nil, invalid("send to queue %.100q: %d entries are not 1 to %d", queue, len(in), MaxBatch)
	}
	results, err := e.sendBy(ctx, queue, in, e.store.Send)
	if err == nil {
		e.hub.wake(queue)
	}
	return results, err
}

// maxTx is the most messages of one call of SendTx.
const maxTx = 10_000

// SendTx is SendBatch in a transaction that the caller has begun in the database of the
// store: the messages exist if and only if it commits. tx has the type that the store
// uses: pgx.Tx for PostgreSQL. The error is ErrNoTx if the store cannot do that. Waiting
// receives find the messages at their next poll. After an error the transaction may be
// unusable.
func (e *Engine) SendTx(ctx context.Context, tx any, queue string, in []SendInput) ([]SendResult, error) {
	if len(in) == 0 || len(in) > maxTx {
		return nil, invalid("send to queue %.100q: %d entries are not 1 to %d", queue, len(in), maxTx)
	}
	store, ok := e.store.(TxStore)
	if !ok {
		return nil, fmt.Errorf("send to queue %.100q: %w", queue, ErrNoTx)
	}
	return e.sendBy(ctx, queue, in, func(ctx context.Context, id int64, entries []Entry) ([]Sent, error) {
		return store.SendTx(ctx, tx, id, entries)
	})
}

// sendBy checks messages and stores them by send.
func (e *Engine) sendBy(ctx context.Context, queue string, in []SendInput,
	send func(ctx context.Context, id int64, entries []Entry) ([]Sent, error),
) ([]SendResult, error) {
	var results []SendResult
	err := e.in(ctx, queue, func(q Queue) error {
		results = make([]SendResult, len(in))
		entries := make([]Entry, 0, len(in))
		at := make([]int, 0, len(in))
		r, err := e.rules.of(&q)
		if err != nil {
			e.complain(ctx, "compile the settings of queue "+q.Name, err)
		}
		for i := range in {
			entry, err := prepare(&q.Settings, &r, in[i])
			if err != nil {
				results[i].Err = fmt.Errorf("send to queue %q: %w", queue, err)
				continue
			}
			entries, at = append(entries, entry), append(at, i)
		}
		if len(entries) == 0 {
			return nil
		}
		sent, err := send(ctx, q.ID, entries)
		if err != nil {
			return err
		}
		for i, s := range sent {
			results[at[i]].Sent = s
		}
		return nil
	})
	if err != nil {
		return nil, wrap(err, "send to queue %.100q", queue)
	}
	return results, nil
}

func prepare(s *Settings, r *rules, in SendInput) (Entry, error) {
	entry := Entry{SendInput: in, ID: NewID(), Delay: s.Delay, FIFO: s.FIFO}
	if err := checkSize(s, in); err != nil {
		return entry, err
	}
	switch {
	case len(in.Group) > maxGroup || len(in.Dedup) > maxGroup || len(in.Sender) > 256:
		return entry, invalid("Group, Dedup or Sender: longer than %d, %d or 256 bytes", maxGroup, maxGroup)
	case !plain(in.Group, in.Dedup, in.Sender):
		return entry, invalid("Group, Dedup or Sender: holds a NUL, or is no UTF-8")
	case in.Priority < 0 || in.Priority > MaxPriority:
		return entry, invalid("Priority is %d, want 0 to %d", in.Priority, MaxPriority)
	case in.Delay != nil && (*in.Delay < 0 || *in.Delay > MaxDelay):
		return entry, invalid("Delay is %v, want 0 to %v", *in.Delay, MaxDelay)
	case !s.FIFO && in.Dedup != "":
		return entry, invalid("Dedup: only FIFO queues deduplicate")
	case s.FIFO && in.Group == "":
		return entry, invalid("Group: a message of a FIFO queue needs one")
	case s.FIFO && in.Priority != 0:
		return entry, invalid("Priority: FIFO queues keep the order of sending")
	case s.FIFO && in.Delay != nil && *in.Delay != s.Delay:
		return entry, invalid("Delay: messages of a FIFO queue have the queue's")
	case s.FIFO && in.Dedup == "" && !s.ContentDedup:
		return entry, invalid("Dedup: a message needs one, or the queue ContentDedup")
	}
	if err := r.admits(s, in.Body); err != nil {
		return entry, err
	}
	entry.Payload = r.payload(&s.Quarantine, entry.ID, in.Body, in.Attributes)
	if in.Delay != nil {
		entry.Delay = *in.Delay
	}
	if s.FIFO {
		if entry.Dedup == "" {
			sum := sha256.Sum256(in.Body)
			entry.Dedup = hex.EncodeToString(sum[:])
		}
		entry.DedupKey = entry.Dedup
		if s.DedupByGroup {
			entry.DedupKey = in.Group + "\x00" + entry.Dedup
		}
	}
	return entry, nil
}

// plain reports whether every store can hold the texts.
func plain(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return !utf8.ValidString(s) || strings.Contains(s, "\x00") })
}

// checkSize counts bytes as SQS does: the body, and names, types and values of attributes.
func checkSize(s *Settings, in SendInput) error {
	if len(in.Body) == 0 {
		return invalid("Body: is empty")
	}
	if text := AttributesFault(in.Attributes); text != "" {
		return invalid("Attributes: %s", text)
	}
	if len(in.System) > MaxAttributes {
		return invalid("System: %d attributes are more than %d", len(in.System), MaxAttributes)
	}
	size := len(in.Body)
	for _, attributes := range []map[string]Attribute{in.Attributes, in.System} {
		for name, a := range attributes {
			if !utf8.ValidString(name + a.DataType + a.String) {
				return invalid("Attributes: %.40q is no UTF-8, in its name, type or value", name)
			}
		}
	}
	for name, a := range in.Attributes {
		size += len(name) + len(a.DataType) + len(a.String) + len(a.Binary)
	}
	if size > s.MaxBytes {
		return fmt.Errorf("Body and Attributes: %d bytes are more than the queue's %d: %w", size, s.MaxBytes, ErrTooLarge)
	}
	for name, a := range in.System {
		if size += len(name) + len(a.DataType) + len(a.String) + len(a.Binary); size > s.MaxBytes+maxExtraBytes {
			return fmt.Errorf("System: more than %d bytes: %w", maxExtraBytes, ErrTooLarge)
		}
	}
	return nil
}

// NewID returns an ID for a message or a task: a random UUID.
func NewID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func or(d *time.Duration, otherwise time.Duration) time.Duration {
	if d == nil {
		return otherwise
	}
	return *d
}

// short shortens long names, so that those with the same beginning stay different.
func short(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:4])
}

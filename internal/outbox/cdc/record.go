package cdc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/outbox"
)

// eventColumns holds the indexes of the columns of an event.
type eventColumns struct {
	position, id, topic, key, seq, kind, headers, payload, written int
}

func columnsOf(r *Relation) (eventColumns, error) {
	var c eventColumns
	var missing faults.List
	for _, f := range []struct {
		name string
		to   *int
	}{
		{"position", &c.position},
		{"id", &c.id},
		{"topic", &c.topic},
		{"key", &c.key},
		{"seq", &c.seq},
		{"type", &c.kind},
		{"headers", &c.headers},
		{"payload", &c.payload},
		{"written_at", &c.written},
	} {
		*f.to = -1
		for i, column := range r.Columns {
			if column.Name == f.name {
				*f.to = i
			}
		}
		missing.If(*f.to < 0, "table %s.%s of an outbox has no column %s", r.Schema, r.Name, f.name)
	}
	return c, errors.Join(missing...)
}

// record decodes an event from a row in binary format. The payload shares the row's memory.
func (c eventColumns) record(row []Value) (r outbox.Record, err error) {
	if len(row) <= max(c.position, c.id, c.topic, c.key, c.seq, c.kind, c.headers, c.payload, c.written) {
		return r, fmt.Errorf("an event has only %d columns", len(row))
	}
	position, ok := int8of(row[c.position])
	sequence, ok2 := int8of(row[c.seq])
	written, ok3 := int8of(row[c.written])
	if !ok || !ok2 || !ok3 {
		return r, errors.New("a number of an event does not have 8 bytes")
	}
	r.Position, r.Sequence = position, sequence
	r.Written = postgresEpoch().Add(time.Duration(written) * time.Microsecond)
	r.ID, r.Topic, r.Key, r.Type = string(row[c.id].Text), string(row[c.topic].Text), string(row[c.key].Text), string(row[c.kind].Text)
	// jsonb starts with a version byte; most events have {} here.
	if h := row[c.headers].Text; len(h) > len("\x01{}") {
		r.SetHeaders(h[1:])
	}
	r.Payload = row[c.payload].Text
	return r, nil
}

func int8of(v Value) (int64, bool) {
	if len(v.Text) != 8 {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(v.Text)), true
}

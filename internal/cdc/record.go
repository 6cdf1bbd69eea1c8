package cdc

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar/outbox"
)

// eventColumns says where the columns of an event are. -1: there is none.
type eventColumns struct {
	position, id, topic, key, seq, kind, headers, payload, written int
}

func columnsOf(r *Relation) eventColumns {
	at := map[string]int{}
	for i, c := range r.Columns {
		at[c.Name] = i
	}
	find := func(name string) int {
		if i, ok := at[name]; ok {
			return i
		}
		return -1
	}
	return eventColumns{
		position: find("position"), id: find("id"), topic: find("topic"), key: find("key"), seq: find("seq"),
		kind: find("type"), headers: find("headers"), payload: find("payload"), written: find("written_at"),
	}
}

// record reads an event from a row.
func (c eventColumns) record(row []Value) (r outbox.Record, err error) {
	text := func(i int) string {
		if i < 0 || i >= len(row) {
			return ""
		}
		return string(row[i].Text)
	}
	if r.Position, err = strconv.ParseInt(text(c.position), 10, 64); err != nil {
		return r, fmt.Errorf("the position of an event: %w", err)
	}
	r.ID, r.Topic, r.Key, r.Type = text(c.id), text(c.topic), text(c.key), text(c.kind)
	if s := text(c.seq); s != "" {
		if r.Sequence, err = strconv.ParseInt(s, 10, 64); err != nil {
			return r, fmt.Errorf("the sequence of event %d: %w", r.Position, err)
		}
	}
	if c.headers >= 0 && c.headers < len(row) && len(row[c.headers].Text) > 2 { // {} is the usual one
		if err := json.Unmarshal(row[c.headers].Text, &r.Headers); err != nil {
			return r, fmt.Errorf("the headers of event %d: %w", r.Position, err)
		}
	}
	if c.payload >= 0 && c.payload < len(row) {
		if r.Payload, err = bytea(row[c.payload].Text); err != nil {
			return r, fmt.Errorf("the payload of event %d: %w", r.Position, err)
		}
	}
	if s := text(c.written); s != "" {
		if r.Written, err = timestamp(s); err != nil {
			return r, fmt.Errorf("the time of event %d: %w", r.Position, err)
		}
	}
	return r, nil
}

// bytea reads PostgreSQL's text for bytes: \x and hexadecimal digits.
func bytea(text []byte) ([]byte, error) {
	if len(text) == 0 {
		return nil, nil
	}
	if len(text) < 2 || text[0] != '\\' || text[1] != 'x' {
		return nil, fmt.Errorf("%.20q does not begin with \\x", text)
	}
	out := make([]byte, hex.DecodedLen(len(text)-2))
	_, err := hex.Decode(out, text[2:])
	return out, err
}

func timestamp(s string) (time.Time, error) {
	t, err := time.Parse("2006-01-02 15:04:05.999999-07", s)
	return t.UTC(), err
}

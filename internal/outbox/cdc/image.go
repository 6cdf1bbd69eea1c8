package cdc

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/bezoar-dev/bezoar/outbox"
)

// image returns the payload of an event for a change:
//
//	{"op": "update", "schema": "public", "table": "orders",
//	 "before": {"id": 7, "state": "open"}, "after": {"id": 7, "state": "paid"},
//	 "unchanged": ["notes"], "lsn": "0/16B3748", "committed": "2026-03-01T10:00:00.123456Z"}
//
// before is null unless the table's replica identity includes old values: with a full
// identity all values, otherwise those of the key if the key changed or the row was
// deleted. unchanged lists large columns that an update did not modify and that the server
// therefore omits.
//
// Values: boolean becomes true or false. smallint, integer, bigint, oid, real and double
// precision become numbers, except NaN and the infinities. json and jsonb are embedded as
// JSON. SQL NULL becomes null. All other values are strings in PostgreSQL's text form:
// numeric with all its digits, bytea as \x and hexadecimal digits, timestamps in ISO form,
// those with a time zone in UTC, arrays as {1,2}.
func image(tx Transaction, c Change, omit []string) []byte {
	b := &bytes.Buffer{}
	b.WriteString(`{"op":`)
	quote(b, string(c.Op))
	b.WriteString(`,"schema":`)
	quote(b, c.Relation.Schema)
	b.WriteString(`,"table":`)
	quote(b, c.Relation.Name)
	b.WriteString(`,"before":`)
	row(b, c.Relation, c.Old, c.KeyOnly, omit)
	b.WriteString(`,"after":`)
	row(b, c.Relation, c.New, false, omit)
	var unchanged []string
	for i, v := range c.New {
		if v.Unchanged && i < len(c.Relation.Columns) && !slices.Contains(omit, c.Relation.Columns[i].Name) {
			unchanged = append(unchanged, c.Relation.Columns[i].Name)
		}
	}
	if unchanged != nil {
		b.WriteString(`,"unchanged":[`)
		for i, name := range unchanged {
			if i > 0 {
				b.WriteByte(',')
			}
			quote(b, name)
		}
		b.WriteByte(']')
	}
	b.WriteString(`,"lsn":`)
	quote(b, tx.Commit.String())
	if !tx.Committed.IsZero() {
		b.WriteString(`,"committed":`)
		quote(b, tx.Committed.UTC().Format(time.RFC3339Nano))
	}
	b.WriteByte('}')
	if b.Len() > outbox.MaxPayload {
		return tooLarge(tx, c, b.Len())
	}
	return b.Bytes()
}

// tooLarge returns the payload for a change that exceeds the size limit of an event. It
// states the size instead of the values: an event that can never be written would block all
// later ones.
func tooLarge(tx Transaction, c Change, size int) []byte {
	out, err := json.Marshal(struct {
		Op       Op     `json:"op"`
		Schema   string `json:"schema"`
		Table    string `json:"table"`
		TooLarge int    `json:"too_large"` // bytes
		LSN      string `json:"lsn"`
	}{c.Op, c.Relation.Schema, c.Relation.Name, size, tx.Commit.String()})
	if err != nil {
		return []byte("{}") // cannot happen: strings and a number always encode
	}
	return out
}

func row(b *bytes.Buffer, r *Relation, values []Value, keyOnly bool, omit []string) {
	if values == nil {
		b.WriteString("null")
		return
	}
	b.WriteByte('{')
	first := true
	for i, v := range values {
		if i >= len(r.Columns) || v.Unchanged || keyOnly && !r.Columns[i].Key || slices.Contains(omit, r.Columns[i].Name) {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		quote(b, r.Columns[i].Name)
		b.WriteByte(':')
		value(b, r.Columns[i].Type, v)
	}
	b.WriteByte('}')
}

func value(b *bytes.Buffer, kind uint32, v Value) {
	if v.Null {
		b.WriteString("null")
		return
	}
	switch kind {
	case pgtype.BoolOID:
		if string(v.Text) == "t" {
			b.WriteString("true")
		} else {
			b.WriteString("false")
		}
		return
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID:
		b.Write(v.Text)
		return
	case pgtype.Float4OID, pgtype.Float8OID:
		if c := v.Text[len(v.Text)-1]; '0' <= c && c <= '9' { // otherwise NaN or Infinity
			b.Write(v.Text)
			return
		}
	case pgtype.JSONOID, pgtype.JSONBOID:
		if json.Valid(v.Text) { // PostgreSQL accepts deep nesting and lone surrogates, which Go rejects
			b.Write(v.Text)
			return
		}
	}
	quote(b, string(v.Text))
}

// quote writes a JSON string. It replaces invalid UTF-8.
func quote(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err == nil {
		b.Truncate(b.Len() - 1) // the newline
	}
}

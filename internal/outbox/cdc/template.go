package cdc

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/outbox"
)

// template builds a text from a change. {schema}, {table} and {op} stand for the change's
// schema, table and operation, {key} for the values of the primary key, and {row.name} for
// the new value of the column name; for a deleted row, its old value.
type template struct{ parts []part }

type part struct {
	text  string // literal, if place is empty
	place string // schema, table, op, key, or a column
	row   bool
}

func parseTemplate(s string) (t template, err error) {
	for s != "" {
		text, rest, found := strings.Cut(s, "{")
		if text != "" {
			t.parts = append(t.parts, part{text: text})
		}
		if !found {
			break
		}
		name, after, found := strings.Cut(rest, "}")
		if !found {
			return t, fmt.Errorf("%.80q has a { without a }", s)
		}
		p := part{place: name}
		if column, is := strings.CutPrefix(name, "row."); is && column != "" {
			p = part{place: column, row: true}
		} else if !slices.Contains([]string{"schema", "table", "op", "key"}, name) {
			return t, fmt.Errorf("{%.80s} is unknown, want one of {schema}, {table}, {op}, {key} and {row.COLUMN}", name)
		}
		t.parts, s = append(t.parts, p), after
	}
	return t, nil
}

// fill builds the text for a row of a change.
func (t template) fill(c Change, row []Value, key []string) string {
	if len(t.parts) == 1 && t.parts[0].place == "" {
		return t.parts[0].text
	}
	var b strings.Builder
	for _, p := range t.parts {
		switch {
		case p.place == "":
			b.WriteString(p.text)
		case p.row:
			b.Write(column(c.Relation, row, p.place))
		case p.place == "schema":
			b.WriteString(c.Relation.Schema)
		case p.place == "table":
			b.WriteString(c.Relation.Name)
		case p.place == "op":
			b.WriteString(string(c.Op))
		case p.place == "key":
			for i, name := range key {
				if i > 0 {
					b.WriteByte(':')
				}
				b.Write(column(c.Relation, row, name))
			}
		}
	}
	return b.String()
}

// column returns the text of a column, or nil if the column does not exist, is null or is
// unknown.
func column(r *Relation, row []Value, name string) []byte {
	for i, c := range r.Columns {
		if c.Name == name && i < len(row) {
			return row[i].Text
		}
	}
	return nil
}

// asTopic turns any text into a valid topic.
func asTopic(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (r == '.' || r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
			return r
		}
		return '_'
	}, s)
	if s == "" {
		return "_"
	}
	return s[:min(len(s), outbox.MaxTopic)]
}

// asKey turns any text into a valid key. It replaces a long text by its hash.
func asKey(s string) string {
	if len(s) <= outbox.MaxKey {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// asType turns any text into a valid type.
func asType(s string) string {
	if len(s) <= outbox.MaxType {
		return s
	}
	return strings.ToValidUTF8(s[:outbox.MaxType], "")
}

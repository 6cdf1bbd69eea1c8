package outgoing

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/outbox"
)

// Pair is a name with its value.
type Pair struct{ Name, Value string }

// Attributes returns the CloudEvents attributes of a record, in a fixed order. source is a
// URI reference that identifies the outbox.
func Attributes(r *outbox.Record, source string) []Pair {
	all := []Pair{{"specversion", "1.0"}, {"id", r.ID}, {"source", source}, {"type", TypeOf(r)}, {"topic", r.Topic}}
	if !r.Written.IsZero() {
		all = append(all, Pair{"time", r.Written.UTC().Format(time.RFC3339Nano)})
	}
	if r.Key != "" {
		all = append(all, Pair{"subject", r.Key})
	}
	if r.Sequence > 0 { // padded, so that the text sorts like the number
		all = append(all, Pair{"sequence", fmt.Sprintf("%019d", r.Sequence)})
	}
	return all
}

// TypeOf returns the type of a record, or its topic if it has no type.
func TypeOf(r *outbox.Record) string {
	if r.Type == "" {
		return r.Topic
	}
	return r.Type
}

const (
	contentType = "Content-Type"
	jsonType    = "application/json"
)

// ContentType returns the payload's media type: the value of the event's own header,
// otherwise application/json if the payload is valid JSON.
func ContentType(r *outbox.Record) string {
	for name, value := range r.Headers {
		if strings.EqualFold(name, contentType) && value != "" {
			return value
		}
	}
	if json.Valid(r.Payload) {
		return jsonType
	}
	return "application/octet-stream"
}

// Headers returns the record's own headers, sorted by name, without the one that
// [ContentType] reads.
func Headers(r *outbox.Record) (all []Pair) {
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		if !strings.EqualFold(name, contentType) {
			all = append(all, Pair{name, r.Headers[name]})
		}
	}
	return all
}

// CheckHeaders refuses a record whose headers are not valid in HTTP.
func CheckHeaders(r *outbox.Record) error {
	for name, value := range r.Headers {
		if name == "" || strings.ContainsFunc(name, func(c rune) bool {
			return c <= ' ' || c >= utf8.RuneSelf-1 || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
		}) {
			return Refused("the header name %.100q is not valid in HTTP", name)
		}
		if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == utf8.RuneSelf-1 }) {
			return Refused("the value of the header %.100q contains a control character", name)
		}
	}
	return nil
}

// CheckTexts refuses a record whose texts are not UTF-8.
func CheckTexts(r *outbox.Record) error {
	for _, p := range append(Headers(r), Attributes(r, "")...) {
		if !utf8.ValidString(p.Name + p.Value) {
			return Refused("the attribute %.100q is not UTF-8", p.Name)
		}
	}
	return nil
}

// Expand replaces {topic}, {key}, {type} and {id} in a template.
func Expand(template string, r *outbox.Record) string {
	if !strings.Contains(template, "{") {
		return template
	}
	return strings.NewReplacer("{topic}", r.Topic, "{key}", r.Key, "{type}", TypeOf(r), "{id}", r.ID).Replace(template)
}

// CheckTemplate returns an error if a template contains any other placeholder.
func CheckTemplate(template string) error {
	filled := Expand(template, &outbox.Record{Event: outbox.Event{ID: "x", Topic: "x", Key: "x", Type: "x"}})
	if strings.ContainsAny(filled, "{}") {
		return fmt.Errorf("%.100q has an unknown placeholder; known are {topic}, {key}, {type} and {id}", template)
	}
	return nil
}

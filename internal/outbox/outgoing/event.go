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

// Pair is a name and its value.
type Pair struct{ Name, Value string }

// Attributes are the CloudEvents attributes of a record, in a fixed order. source is a
// URI reference that names the outbox.
func Attributes(r *outbox.Record, source string) []Pair {
	all := []Pair{{"specversion", "1.0"}, {"id", r.ID}, {"source", source}, {"type", TypeOf(r)}, {"topic", r.Topic}}
	if !r.Written.IsZero() {
		all = append(all, Pair{"time", r.Written.UTC().Format(time.RFC3339Nano)})
	}
	if r.Key != "" {
		all = append(all, Pair{"subject", r.Key})
	}
	if r.Sequence > 0 { // as a text it is ordered as the number is
		all = append(all, Pair{"sequence", fmt.Sprintf("%019d", r.Sequence)})
	}
	return all
}

// TypeOf is the type of a record: its topic if it does not have one.
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

// ContentType says what the payload is: what the event's own header says, or JSON if it
// can be read as that.
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

// Headers are the record's own, by name, without the one that [ContentType] reads.
func Headers(r *outbox.Record) (all []Pair) {
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		if !strings.EqualFold(name, contentType) {
			all = append(all, Pair{name, r.Headers[name]})
		}
	}
	return all
}

// CheckHeaders refuses a record whose headers are none of HTTP's.
func CheckHeaders(r *outbox.Record) error {
	for name, value := range r.Headers {
		if name == "" || strings.ContainsFunc(name, func(c rune) bool {
			return c <= ' ' || c >= utf8.RuneSelf-1 || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
		}) {
			return Refused("the name of its header %.100q is none of HTTP's", name)
		}
		if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == utf8.RuneSelf-1 }) {
			return Refused("the value of its header %.100q has a control character", name)
		}
	}
	return nil
}

// CheckTexts refuses a record whose texts are no UTF-8.
func CheckTexts(r *outbox.Record) error {
	for _, p := range append(Headers(r), Attributes(r, "")...) {
		if !utf8.ValidString(p.Name + p.Value) {
			return Refused("its %.100q is no UTF-8", p.Name)
		}
	}
	return nil
}

// Expand fills {topic}, {key}, {type} and {id} in.
func Expand(template string, r *outbox.Record) string {
	if !strings.Contains(template, "{") {
		return template
	}
	return strings.NewReplacer("{topic}", r.Topic, "{key}", r.Key, "{type}", TypeOf(r), "{id}", r.ID).Replace(template)
}

// CheckTemplate is an error if a template names something else.
func CheckTemplate(template string) error {
	filled := Expand(template, &outbox.Record{Event: outbox.Event{ID: "x", Topic: "x", Key: "x", Type: "x"}})
	if strings.ContainsAny(filled, "{}") {
		return fmt.Errorf("%.100q has a placeholder that there is not: there are {topic}, {key}, {type} and {id}", template)
	}
	return nil
}

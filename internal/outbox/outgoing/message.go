package outgoing

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/outbox"
)

// HeadersAttribute is the attribute that holds all headers in JSON if a message cannot hold
// one attribute per header.
const HeadersAttribute = "event_headers"

// MessageAttributes returns the attributes of a queue message for a record, at most most of
// them: event_id, event_topic, event_type, event_source, event_time, event_sequence and
// event_key. The event's headers follow, one attribute each. If there are too many headers,
// or one has a name that is invalid for an attribute, they share one attribute.
func MessageAttributes(r *outbox.Record, source string, most int) map[string]string {
	all := map[string]string{}
	for _, p := range Attributes(r, source) {
		switch p.Name {
		case "specversion":
		case "subject":
			all["event_key"] = p.Value
		default:
			all["event_"+p.Name] = p.Value
		}
	}
	headers := maps.Clone(r.Headers)
	maps.DeleteFunc(headers, func(_, value string) bool { return value == "" }) // attributes cannot be empty
	single := len(all)+len(headers) <= most && !slices.ContainsFunc(slices.Collect(maps.Keys(headers)), func(name string) bool {
		return !isAttributeName(name) || strings.HasPrefix(strings.ToLower(name), "event_")
	})
	switch {
	case len(headers) == 0:
	case single:
		maps.Copy(all, headers)
	default:
		text, _ := json.Marshal(headers) // strings always encode
		all[HeadersAttribute] = string(text)
	}
	return all
}

// isAttributeName reports whether SQS accepts a name.
func isAttributeName(name string) bool {
	lower := strings.ToLower(name)
	return name != "" && len(name) <= 256 && name[0] != '.' && name[len(name)-1] != '.' && !strings.Contains(name, "..") &&
		!strings.HasPrefix(lower, "aws.") && !strings.HasPrefix(lower, "amazon.") &&
		!strings.ContainsFunc(name, func(c rune) bool {
			return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.'
		})
}

// maxShort is the maximum length of message group names.
const maxShort = 128

// ShortName returns a key or an ID in a form with at most 128 letters, digits and
// punctuation characters of ASCII. It replaces any other name by its hash.
func ShortName(name string) string {
	if len(name) <= maxShort && !strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "sha256-" + hex.EncodeToString(sum[:])
}

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

// HeadersAttribute has all headers in JSON where a message has no room for each.
const HeadersAttribute = "event_headers"

// MessageAttributes are what a message of a queue says of a record, at most most of them:
// event_id, event_topic, event_type, event_source, event_time and event_sequence, and
// event_key. Then come the event's headers, each an attribute of its own, or if there
// are too many, or one has a name that attributes do not have, all in one.
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
	maps.DeleteFunc(headers, func(_, value string) bool { return value == "" }) // which attributes cannot be
	single := len(all)+len(headers) <= most && !slices.ContainsFunc(slices.Collect(maps.Keys(headers)), func(name string) bool {
		return !isAttributeName(name) || strings.HasPrefix(strings.ToLower(name), "event_")
	})
	switch {
	case len(headers) == 0:
	case single:
		maps.Copy(all, headers)
	default:
		text, _ := json.Marshal(headers) // texts always can be
		all[HeadersAttribute] = string(text)
	}
	return all
}

// isAttributeName reports whether SQS takes a name.
func isAttributeName(name string) bool {
	lower := strings.ToLower(name)
	return name != "" && len(name) <= 256 && name[0] != '.' && name[len(name)-1] != '.' && !strings.Contains(name, "..") &&
		!strings.HasPrefix(lower, "aws.") && !strings.HasPrefix(lower, "amazon.") &&
		!strings.ContainsFunc(name, func(c rune) bool {
			return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.'
		})
}

// maxShort is how long the names of message groups may be.
const maxShort = 128

// ShortName is a key, or an ID, where only letters, digits and punctuation of ASCII have a
// place, and 128 of them. What has others, or more, is hashed.
func ShortName(name string) string {
	if len(name) <= maxShort && !strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "sha256-" + hex.EncodeToString(sum[:])
}

package admission

import (
	"strconv"
	"time"
)

// These fields tell callers about their quotas, as in draft-ietf-httpapi-ratelimit-headers since its eighth version: lists
// of structured fields (RFC 9651), with one item for each quota.
const (
	PolicyField = "RateLimit-Policy"
	LimitField  = "RateLimit"
)

// appendPolicy appends the item that describes a quota: how much in which time.
func appendPolicy(b []byte, name, unit string, quota int64, per time.Duration) []byte {
	if len(b) > 0 {
		b = append(b, ", "...)
	}
	b = appendString(b, name)
	b = append(b, ";q="...)
	b = appendInteger(b, quota)
	switch unit {
	case "requests", "": // the draft's default
	case "bytes":
		b = append(b, `;qu="content-bytes"`...)
	default:
		b = append(b, `;qu=`...)
		b = appendString(b, unit)
	}
	if per >= time.Second {
		b = append(b, ";w="...)
		b = appendInteger(b, seconds(per))
	}
	return b
}

// appendLimit appends the item for the rest of a quota, and the seconds until there is more.
func appendLimit(b []byte, name string, left int64, reset time.Duration) []byte {
	b = appendString(b, name)
	b = append(b, ";r="...)
	b = appendInteger(b, left)
	b = append(b, ";t="...)
	return appendInteger(b, seconds(reset))
}

// appendString appends a string of a structured field. s is printable ASCII.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c > '~':
			b = append(b, '?')
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// appendInteger appends an integer of a structured field, which has at most 15 digits.
func appendInteger(b []byte, n int64) []byte {
	return strconv.AppendInt(b, min(max(n, 0), 999_999_999_999_999), 10)
}

// seconds rounds up, so that callers do not come back too early.
func seconds(d time.Duration) int64 {
	n := int64(d / time.Second)
	if d%time.Second > 0 {
		n++
	}
	return max(n, 0)
}

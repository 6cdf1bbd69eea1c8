package h1

import (
	"errors"
	"strings"
	"time"
)

// UntilClose is the Length of an answer whose body ends with its connection.
const UntilClose = -2

// Response is the head of an answer. Its strings share one copy of the head;
// the Fields slice is reused.
type Response struct {
	Status int
	Reason string
	Minor  int // HTTP/1.Minor
	Fields []Field
	Length int64 // of the body that follows; -1: chunked; UntilClose
	Bare   bool  // no body follows, for any fields: HEAD, 1xx, 204, 304
	Keep   bool  // the connection may carry another request

	Idle time.Duration // how long the connection may be idle until the server closes it, less a margin; 0: it does not say

	Upgrade string // the protocol of a 101
}

// Parse reads a head that ends in an empty line, the answer to a request of the
// method. The error is an [*Error].
func (r *Response) Parse(head, method string, limits Limits) error {
	limits = limits.orDefaults()
	fields := r.Fields[:0]
	*r = Response{}
	r.Fields = fields
	i := strings.IndexByte(head, '\n')
	if i < 1 || head[i-1] != '\r' {
		return bad("a line ends in a bare LF")
	}
	if err := r.parseLine(head[:i-1]); err != nil {
		return err
	}
	fields, err := parseFields(fields, head[i+1:], limits.Fields)
	if e, ok := errors.AsType[*Error](err); ok && (e.Rule == spaceBeforeColon || e.Rule == controlInValue) {
		fields, err = parseFields(fields[:0], tidy(head[i+1:]), limits.Fields)
	}
	r.Fields = fields
	if err != nil {
		return err
	}
	return r.understand(method)
}

// tidy removes white space between the names of fields and their colons (RFC 9112, section 5.1), and makes control characters
// in their values spaces, but those that may end a line or a value elsewhere (RFC 9110, section 5.5).
func tidy(s string) string {
	var b strings.Builder
	for line := range strings.SplitAfterSeq(s, "\n") {
		name, value, ok := strings.Cut(line, ":")
		if ok {
			b.WriteString(strings.TrimRight(name, " \t"))
			line = ":" + string(spaced([]byte(value)))
		}
		b.WriteString(line)
	}
	return b.String()
}

// spaced makes control characters spaces, except for NUL, CR, LF and the tab.
func spaced(value []byte) []byte {
	for i, c := range value {
		if c > 0 && c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f {
			value[i] = ' '
		}
	}
	return value
}

func (r *Response) parseLine(line string) error {
	const code = len("HTTP/1.1 ")
	if len(line) < code+3 || line[code-1] != ' ' {
		return bad("the status line is malformed")
	}
	minor, err := parseVersion(line[:code-1])
	if later(line) { // of a program that writes the line itself; it still sends HTTP/1.1
		minor, err = 1, nil
	}
	if err != nil {
		return err
	}
	r.Minor = minor
	for _, c := range []byte(line[code : code+3]) {
		if !isDigit(c) {
			return bad("the status is not three digits")
		}
		r.Status = r.Status*10 + int(c-'0')
	}
	if r.Status < 100 {
		return bad("the status is below 100")
	}
	if rest := line[code+3:]; rest != "" {
		if rest[0] != ' ' {
			return bad("the status is not three digits")
		}
		r.Reason = rest[1:]
	}
	if !isValue(r.Reason) {
		return bad("the reason has a control character")
	}
	return nil
}

// idleFor reads a Keep-Alive field, such as "timeout=5, max=100": a request that is sent a moment before the server closes the
// connection is lost.
func idleFor(value string) time.Duration {
	for value != "" {
		var item string
		item, value, _ = strings.Cut(value, ",")
		name, number, _ := strings.Cut(trim(item), "=")
		if !Fold(trim(name), "timeout") {
			continue
		}
		n, ok := parseLength(trim(number))
		switch {
		case !ok || n > int64(24*time.Hour/time.Second):
			return 0
		case n < 2:
			return max(1, time.Duration(n)*time.Second/2)
		}
		return time.Duration(n-1) * time.Second
	}
	return 0
}

// later reports whether a status line has a version from HTTP/1.2 to HTTP/2.0.
func later(line string) bool {
	version := line[:len("HTTP/1.1")]
	return version == "HTTP/2.0" || strings.HasPrefix(version, "HTTP/1.") && version > "HTTP/1.1" && version <= "HTTP/1.9"
}

// once returns the value of a list of equal values.
func once(list string) string {
	first, rest, more := strings.Cut(list, ",")
	for first = trim(first); more; {
		var next string
		if next, rest, more = strings.Cut(rest, ","); trim(next) != first {
			return list
		}
	}
	return first
}

func (r *Response) understand(method string) error {
	body := framing{length: -1}
	shut, keep, upgrade := false, false, ""
	for i := range r.Fields {
		f := &r.Fields[i]
		switch f.Key {
		case ContentLength, TransferEncoding:
			switch {
			case f.Key == ContentLength:
				f.Value = once(f.Value)
			case Fold(f.Value, "identity"):
				continue // an old word for no coding
			}
			if err := body.add(*f); err != nil {
				return err
			}
		case Connection:
			shut = shut || HasToken(f.Value, "close")
			keep = keep || HasToken(f.Value, "keep-alive")
		case KeepAlive:
			r.Idle = idleFor(f.Value)
		case Upgrade:
			upgrade = f.Value
		default:
		}
	}
	if body.coding && body.length >= 0 {
		return bad("Transfer-Encoding beside Content-Length")
	}
	r.Keep = !shut && (r.Minor == 1 || keep)
	r.Bare = method == "HEAD" || r.Status < 200 || r.Status == 204 || r.Status == 304
	switch {
	case r.Status == 101:
		r.Upgrade, r.Keep = upgrade, false
	case r.Bare:
		// Some servers send the announced body although none may follow. It would come in front of the next answer.
		r.Keep = r.Keep && !body.coding && body.length <= 0
	case body.coding:
		r.Length = -1
		r.Keep = r.Keep && r.Minor == 1 // RFC 9112, section 6.1
	case body.length >= 0:
		r.Length = body.length
	default:
		r.Length, r.Keep = UntilClose, false
	}
	return nil
}

package graphql

import (
	"bytes"
	"strings"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// multipart reads a form with files. Its part "operations" is the request.
func (r *Reader) multipart(body *text, url *request, boundary string) {
	if boundary == "" {
		r.refuse(cost.Unparsable, "the form has no boundary", notInBody)
		return
	}
	found := false
	for pos, ok := nextPart(body.bytes, 0, boundary); ok && r.fault == nil; {
		head, content, ended := bytes.Cut(body.bytes[pos:], []byte("\r\n\r\n"))
		if !ended {
			break
		}
		from := pos + len(head) + 4
		end, more := nextPart(body.bytes, from, boundary)
		if !more {
			end = len(body.bytes)
		} else if content = content[:max(end-from-len(boundary)-4, 0)]; !bytes.HasPrefix(body.bytes[from+len(content):], []byte("\r\n--")) {
			content = body.bytes[from:end]
		}
		if name := partName(head); bytes.EqualFold(name, []byte("operations")) {
			part := text{bytes: content, base: body.base + from}
			r.sniffed(&part, url, true)
			found = true
		} else if memberOf(name) == hasQuery { // an ordinary form
			r.member(&request{query: text{bytes: content, base: body.base + from}, has: hasQuery}, url)
			found = true
		}
		pos, ok = end, more
	}
	if !found {
		r.refuse(cost.Unparsable, "the form has no part \"operations\"", notInBody)
	}
}

func boundaryOf(contentType string) string {
	const key = "boundary="
	i := strings.Index(strings.ToLower(contentType), key)
	if i < 0 {
		return ""
	}
	b := contentType[i+len(key):]
	if strings.HasPrefix(b, `"`) {
		b, _, _ = strings.Cut(b[1:], `"`)
		return b
	}
	b, _, _ = strings.Cut(b, ";")
	return strings.TrimSpace(b)
}

// firstBoundary returns the boundary of a form without a header: its first line.
func firstBoundary(body []byte) string {
	line, _, _ := bytes.Cut(body, []byte("\r\n"))
	return string(bytes.TrimPrefix(line, []byte("--")))
}

// nextPart returns the start of the part after the next --boundary.
func nextPart(body []byte, from int, boundary string) (int, bool) {
	for {
		i := bytes.Index(body[from:], []byte("--"))
		if i < 0 {
			return 0, false
		}
		from += i + 2
		if rest := body[from:]; len(rest) >= len(boundary) && string(rest[:len(boundary)]) == boundary {
			return from + len(boundary), true
		}
	}
}

// partName returns the name in a part's Content-Disposition.
func partName(head []byte) []byte {
	for line := range bytes.SplitSeq(head, []byte("\r\n")) {
		key, value, _ := bytes.Cut(line, []byte{':'})
		if !bytes.EqualFold(bytes.TrimSpace(key), []byte("content-disposition")) {
			continue
		}
		for param := range bytes.SplitSeq(value, []byte{';'}) {
			k, v, _ := bytes.Cut(bytes.TrimSpace(param), []byte{'='})
			if bytes.EqualFold(bytes.TrimSpace(k), []byte("name")) {
				return bytes.Trim(bytes.TrimSpace(v), `"`)
			}
		}
	}
	return nil
}

package guardfront

import (
	"bytes"
	"encoding/json"
	"strings"
)

// jsonTexts appends the strings at a path in a body, and strings in lists there. A repeated name counts each time, in any
// case of letters, because workers differ in which one they take. why says why the body cannot be searched.
func jsonTexts(dst []string, body []byte, path string) (texts []string, why string) {
	names, err := parsePath(path)
	if err != nil {
		return dst, err.Error()
	}
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if !json.Valid(body) {
		return dst, "the body is not JSON"
	}
	w := jsonWalk{text: body, found: dst}
	w.value(names)
	return w.found, ""
}

// jsonWalk goes once through text that is valid JSON.
type jsonWalk struct {
	text  []byte
	at    int
	found []string
}

// value searches the next value for names, and ends after it.
func (w *jsonWalk) value(names []string) {
	w.space()
	switch c := w.text[w.at]; {
	case len(names) == 0 && c == '"':
		w.found = append(w.found, w.str())
	case c == '[' && (len(names) == 0 || names[0] == ""):
		rest := names
		if len(names) > 0 {
			rest = names[1:]
		}
		w.list(func() {
			if w.space(); len(names) == 0 && w.text[w.at] == '[' { // a list at the end of the path
				w.skip()
				return
			}
			w.value(rest)
		})
	case c == '{' && len(names) > 0 && names[0] != "":
		w.list(func() {
			w.space()
			same := w.named(names[0])
			w.space()
			w.at++ // the colon
			if same {
				w.value(names[1:])
			} else {
				w.space()
				w.skip()
			}
		})
	default:
		w.skip()
	}
}

// list calls do for each element or member of the open list or object.
func (w *jsonWalk) list(do func()) {
	for w.at++; ; {
		w.space()
		switch c := w.text[w.at]; {
		case c == ']' || c == '}':
			w.at++
			return
		case c == ',':
			w.at++
		case len(w.found) > maxTexts: // such a request is refused anyway
			w.skip()
			if w.space(); w.text[w.at] == ':' {
				w.at++
			}
		default:
			do()
		}
	}
}

func (w *jsonWalk) space() {
	for {
		switch w.text[w.at] {
		case ' ', '\t', '\r', '\n':
			w.at++
		default:
			return
		}
	}
}

// named reads a key.
func (w *jsonWalk) named(name string) bool {
	from := w.at
	w.skip()
	raw := w.text[from+1 : w.at-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return strings.EqualFold(string(raw), name)
	}
	w.at = from
	return strings.EqualFold(w.str(), name)
}

func (w *jsonWalk) str() string {
	from := w.at
	w.skip()
	var s string
	if json.Unmarshal(w.text[from:w.at], &s) != nil { // it is valid
		return string(w.text[from:w.at])
	}
	return s
}

// skip moves past the value that begins here.
func (w *jsonWalk) skip() {
	for depth := 0; w.at < len(w.text); w.at++ {
		switch w.text[w.at] {
		case '"':
			for w.at++; w.text[w.at] != '"'; w.at++ {
				if w.text[w.at] == '\\' {
					w.at++
				}
			}
			if depth == 0 {
				w.at++
				return
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // after a number or word
				return
			}
			if depth--; depth == 0 {
				w.at++
				return
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return
			}
		}
	}
}

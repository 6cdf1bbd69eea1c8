package guardfront

import (
	"bytes"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/jsonparts"
)

// jsonTexts appends the strings at a path in a body, and strings in lists there. A repeated name counts each time, in any
// case of letters, because workers differ in which one they take. why says why the body cannot be searched.
func jsonTexts(dst []string, body []byte, path string) (texts []string, why string) {
	names, err := parsePath(path)
	if err != nil {
		return dst, err.Error()
	}
	value := jsonparts.Valid(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	if value == nil {
		return dst, "the body is not JSON"
	}
	return textsAt(dst, value, names), ""
}

// textsAt appends the strings at a path in a value. It ends when there are more than maxTexts: such a request is refused
// anyway.
func textsAt(dst []string, value []byte, names []string) []string {
	if value[0] == '"' && len(names) == 0 {
		return append(dst, string(jsonparts.Text(value)))
	}
	list := value[0] == '[' && (len(names) == 0 || names[0] == "")
	if !list && (value[0] != '{' || len(names) == 0 || names[0] == "") {
		return dst
	}
	for name, part := range jsonparts.Of(value) {
		switch {
		case len(dst) > maxTexts:
			return dst
		case !list && strings.EqualFold(string(jsonparts.Text(name)), names[0]), list && len(names) > 0:
			dst = textsAt(dst, part, names[1:])
		case list && part[0] != '[': // a list at the end of the path, which may not hold lists
			dst = textsAt(dst, part, nil)
		}
	}
	return dst
}

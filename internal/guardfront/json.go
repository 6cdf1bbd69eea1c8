package guardfront

import (
	"bytes"
	"encoding/json"
	"errors"
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
	if dst, err = textsAt(dst, bytes.TrimLeft(body, " \t\r\n"), names); err != nil {
		why = "the body cannot be searched: " + err.Error()
	}
	return dst, why
}

// textsAt appends the strings at a path in a value. It ends when there are more than maxTexts: such a request is refused
// anyway.
func textsAt(dst []string, value []byte, names []string) ([]string, error) {
	if value[0] == '"' && len(names) == 0 {
		var s string
		err := json.Unmarshal(value, &s)
		return append(dst, s), err
	}
	list := value[0] == '[' && (len(names) == 0 || names[0] == "")
	if !list && (value[0] != '{' || len(names) == 0 || names[0] == "") {
		return dst, nil
	}
	d := json.NewDecoder(bytes.NewReader(value))
	_, err := d.Token()
	for err == nil && d.More() && len(dst) <= maxTexts {
		var key json.Token
		if !list {
			key, err = d.Token()
		}
		var one json.RawMessage
		if err = errors.Join(err, d.Decode(&one)); err != nil {
			break
		}
		name, _ := key.(string)
		switch {
		case !list && strings.EqualFold(name, names[0]), list && len(names) > 0:
			dst, err = textsAt(dst, one, names[1:])
		case list && one[0] != '[': // a list at the end of the path, which may not hold lists
			dst, err = textsAt(dst, one, nil)
		}
	}
	return dst, err
}

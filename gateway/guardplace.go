package gateway

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/h1"
)

// maxTexts bounds the texts of one request that are looked at; a request with
// more is refused.
const maxTexts = 64

// checkPlace says what is wrong with a place of expressions.
func checkPlace(place string) error {
	kind, name, ok := strings.Cut(place, ":")
	switch {
	case !ok || name == "":
	case kind == "query", kind == "form":
		return nil
	case kind == "header" && h1.Token(name):
		return nil
	case kind == "json":
		if _, err := parsePath(name); err != nil {
			return err
		}
		return nil
	}
	return fmt.Errorf("%q is no place: want query:NAME, header:NAME, form:NAME or json:$.a.b", place)
}

// texts appends what is at the places.
func (j *job) texts(dst, places []string) []string {
	for _, place := range places {
		kind, name, _ := strings.Cut(place, ":")
		switch kind {
		case "query":
			dst = valuesOf(dst, j.req.Query, name)
		case "form":
			if strings.HasPrefix(strings.ToLower(j.first(h1.ContentType)), "application/x-www-form-urlencoded") {
				dst = valuesOf(dst, string(j.body), name)
			}
		case "header":
			for i := range j.req.Fields {
				if f := &j.req.Fields[i]; strings.EqualFold(f.Name, name) {
					dst = append(dst, f.Value)
				}
			}
		case "json":
			dst = j.jsonTexts(dst, name)
		}
	}
	return dst
}

// valuesOf appends the decoded values of a parameter. What does not decode is
// taken as it is: a worker may read it so.
func valuesOf(dst []string, query, name string) []string {
	for query != "" && len(dst) <= maxTexts {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		key, value, _ := strings.Cut(pair, "=")
		if k, err := url.QueryUnescape(key); err == nil {
			key = k
		}
		if key != name {
			continue
		}
		if v, err := url.QueryUnescape(value); err == nil {
			value = v
		}
		dst = append(dst, value)
	}
	return dst
}

// parsePath splits $.a["b"][*] into names; "" is every item of a list.
func parsePath(path string) ([]string, error) {
	rest, ok := strings.CutPrefix(path, "$")
	if !ok {
		return nil, fmt.Errorf("the path %q does not begin with $", path)
	}
	var names []string
	for rest != "" {
		switch {
		case strings.HasPrefix(rest, "[*]"):
			names, rest = append(names, ""), rest[3:]
		case strings.HasPrefix(rest, `["`):
			name, after, ok := strings.Cut(rest[2:], `"]`)
			if !ok || name == "" {
				return nil, fmt.Errorf("the path %q has a name without an end", path)
			}
			names, rest = append(names, name), after
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			if end == 0 {
				return nil, fmt.Errorf("the path %q has an empty name", path)
			}
			names, rest = append(names, rest[1:end+1]), rest[end+1:]
		default:
			return nil, fmt.Errorf("the path %q is not of the form $.a.b", path)
		}
	}
	if len(names) == 0 || len(names) > 16 {
		return nil, fmt.Errorf("the path %q has %d names, want 1 to 16", path, len(names))
	}
	return names, nil
}

// jsonTexts appends the strings at a path. A body that is no JSON has none: the
// worker will not find any either.
func (j *job) jsonTexts(dst []string, path string) []string {
	names, err := parsePath(path)
	if err != nil {
		return dst
	}
	var doc any
	if json.Unmarshal(j.body, &doc) != nil {
		return dst
	}
	return stringsAt(dst, doc, names)
}

func stringsAt(dst []string, v any, names []string) []string {
	if len(names) == 0 {
		if s, ok := v.(string); ok {
			dst = append(dst, s)
		}
		return dst
	}
	switch v := v.(type) {
	case map[string]any:
		if next, ok := v[names[0]]; ok {
			dst = stringsAt(dst, next, names[1:])
		}
	case []any:
		if names[0] != "" {
			break
		}
		for _, item := range v {
			if dst = stringsAt(dst, item, names[1:]); len(dst) > maxTexts {
				break
			}
		}
	}
	return dst
}

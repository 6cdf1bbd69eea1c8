package guardfront

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// maxTexts bounds the texts of one request; a request with more is refused.
const maxTexts = 64

// checkPlace returns the fault of a place of expressions.
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
	return fmt.Errorf("%q is not a place: want query:NAME, header:NAME, form:NAME or json:$.a.b", place)
}

// texts appends the texts at the places. why says why the body cannot be searched for them, if so.
func (r *Request) texts(dst, places []string) (texts []string, why string) {
	media, _, _ := strings.Cut(strings.ToLower(r.first(h1.ContentType)), ";")
	media = strings.TrimSpace(media)
	inBody := false
	for _, place := range places {
		kind, name, _ := strings.Cut(place, ":")
		switch kind {
		case "query":
			dst = valuesOf(dst, r.Head.Query, name)
		case "header":
			for i := range r.Head.Fields {
				if f := &r.Head.Fields[i]; strings.EqualFold(f.Name, name) {
					dst = append(dst, f.Value)
				}
			}
		case "form", "json":
			inBody = true
		}
	}
	if !inBody || len(r.Body) == 0 {
		return dst, ""
	}
	if e := r.encoding(); e != "" && !strings.EqualFold(e, "identity") {
		return dst, "the body is packed: content encoding " + e
	}
	for _, place := range places {
		fault := ""
		switch kind, name, _ := strings.Cut(place, ":"); {
		case kind == "form" && media == "application/x-www-form-urlencoded":
			dst = valuesOf(dst, string(r.Body), name)
		case kind == "form" && media == "multipart/form-data":
			dst, fault = partsOf(dst, r.first(h1.ContentType), r.Body, name)
		case kind == "json" && mayBeJSON(media, r.Body):
			dst, fault = jsonTexts(dst, r.Body, name)
		}
		if why == "" {
			why = fault
		}
	}
	return dst, why
}

// mayBeJSON reports whether a worker may read a body of a media type as JSON. Many workers ignore the type.
func mayBeJSON(media string, body []byte) bool {
	if media == "" || strings.Contains(media, "json") || strings.HasPrefix(media, "text/") {
		return true
	}
	body = bytes.TrimLeft(body, "\xef\xbb\xbf \t\r\n")
	return len(body) > 0 && (body[0] == '{' || body[0] == '[')
}

// maxFormParts bounds the parts of a form that are read.
const maxFormParts = 1000

// partsOf appends the values of a name in a multipart form. It skips files.
func partsOf(dst []string, contentType string, body []byte, name string) (texts []string, why string) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil || params["boundary"] == "" {
		return dst, "a form without a boundary"
	}
	r := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for range maxFormParts {
		part, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return dst, ""
		}
		if err != nil {
			return dst, "a form that cannot be read: " + err.Error()
		}
		if !called(part.FormName(), name) || part.FileName() != "" {
			continue
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return dst, "a form that cannot be read: " + err.Error()
		}
		if dst = append(dst, string(value)); len(dst) > maxTexts {
			return dst, ""
		}
	}
	return dst, "a form of too many parts"
}

// valuesOf appends the decoded values of a parameter. A value that cannot be decoded is taken unchanged, because a worker
// may do the same. Some workers also split at ; so those parts are taken as well.
func valuesOf(dst []string, query, name string) []string {
	for query != "" && len(dst) <= maxTexts {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		dst = valueOf(dst, pair, name)
		for more := strings.Contains(pair, ";"); more && len(dst) <= maxTexts; {
			var part string
			part, pair, more = strings.Cut(pair, ";")
			dst = valueOf(dst, part, name)
		}
	}
	return dst
}

func valueOf(dst []string, pair, name string) []string {
	key, value, _ := strings.Cut(pair, "=")
	if k, err := url.QueryUnescape(key); err == nil {
		key = k
	}
	if !called(key, name) {
		return dst
	}
	if v, err := url.QueryUnescape(value); err == nil {
		value = v
	}
	return append(dst, value)
}

// called reports whether a worker may give a parameter this name, also as an item of a list, name[].
func called(key, name string) bool {
	rest, ok := strings.CutPrefix(key, name)
	return ok && (rest == "" || rest[0] == '[')
}

// parsePath splits $.a["b"][*] into names; "" stands for every item of a list.
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

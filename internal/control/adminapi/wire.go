package adminapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// PathFlows is below which the API of flows is mounted. Package flowapi has it.
const PathFlows = "/api/flow/"

// PathDescription is the description of the API in the format of OpenAPI.
const PathDescription = "/api/v1/openapi.json"

// A Mux is an [http.ServeMux] that remembers its patterns.
type Mux struct {
	mux      http.ServeMux
	patterns []string
}

// Handle is as that of [http.ServeMux].
func (m *Mux) Handle(pattern string, h http.Handler) {
	m.mux.Handle(pattern, h)
	m.patterns = append(m.patterns, pattern)
}

// Patterns are those of Handle, in its order.
func (m *Mux) Patterns() []string { return slices.Clone(m.patterns) }

// ServeHTTP is as that of [http.ServeMux].
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

// Invalid is a refusal of a request that makes no sense.
func Invalid(format string, args ...any) error {
	return NewProblem(http.StatusBadRequest, CodeInvalid, fmt.Sprintf(format, args...))
}

// Reply sends v whole. JSON only: payloads inside are whatever attackers wrote.
func Reply(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the caller may be gone
	return nil
}

// Answer is Reply, unless there is an error.
func Answer(w http.ResponseWriter, status int, v any, err error) error {
	if err != nil {
		return err
	}
	return Reply(w, status, v)
}

// Decode reads one JSON document of at most limit bytes.
func Decode(w http.ResponseWriter, r *http.Request, limit int64, v any) error {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return Invalid("the body must be application/json, not %.60q", kind)
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		err = errors.New("something follows the document")
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return err
	}
	return Invalid("the body is not what is asked for: %.200v", err)
}

// Query parses a query and refuses parameters that are misspelt.
func Query(u *url.URL, names ...string) (url.Values, error) {
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, Invalid("the query cannot be read: %v", err)
	}
	for key := range q {
		if !slices.Contains(names, key) {
			return nil, Invalid("the query has no parameter %.60q here", key)
		}
	}
	return q, nil
}

// Number reads a number of a query; 0 when it is not there.
func Number(q url.Values, name string, low, high int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, Invalid("%s %.40q: want a number from %d to %d", name, text, low, high)
	}
	return n, nil
}

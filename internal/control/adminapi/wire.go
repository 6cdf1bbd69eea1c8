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

// PathFlows is the prefix of the paths of the flow API, which package flowapi defines.
const PathFlows = "/api/flow/"

// PathDescription is the path of the API description in the OpenAPI format.
const PathDescription = "/api/v1/openapi.json"

// Mux is an [http.ServeMux] that remembers its patterns.
type Mux struct {
	mux      http.ServeMux
	patterns []string
}

// Handle registers a handler like [http.ServeMux.Handle].
func (m *Mux) Handle(pattern string, h http.Handler) {
	m.mux.Handle(pattern, h)
	m.patterns = append(m.patterns, pattern)
}

// Patterns returns the registered patterns, in order.
func (m *Mux) Patterns() []string { return slices.Clone(m.patterns) }

// ServeHTTP calls the matching handler.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

// Invalid returns a problem for an invalid request.
func Invalid(format string, args ...any) error {
	return NewProblem(http.StatusBadRequest, CodeInvalid, fmt.Sprintf(format, args...))
}

// Reply sends v, completely encoded, as JSON only: payloads inside are written by
// attackers.
func Reply(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may have disconnected
	return nil
}

// Answer is Reply, unless err is set.
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
		err = errors.New("unexpected data after the document")
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return err
	}
	return Invalid("the body is invalid: %.200v", err)
}

// Query parses a query and rejects unknown parameters.
func Query(u *url.URL, names ...string) (url.Values, error) {
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, Invalid("the query cannot be read: %v", err)
	}
	for key := range q {
		if !slices.Contains(names, key) {
			return nil, Invalid("unknown parameter %.60q", key)
		}
	}
	return q, nil
}

// Number parses a number of a query; it returns 0 if the parameter is missing.
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

package admin

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// handler handles a call, or returns why it cannot.
type handler = func(http.ResponseWriter, *http.Request) error

// asked makes the handler of a call without a body, whose answer is a document.
func asked(do func(r *http.Request) (any, error)) handler { return begun(http.StatusOK, do) }

// begun is asked with another status of the answer.
func begun(status int, do func(r *http.Request) (any, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		out, err := do(r)
		return adminapi.Answer(w, status, out, err)
	}
}

// whole makes the handler of a call without a body and without parameters.
func whole(do func(ctx context.Context) (any, error)) handler {
	return asked(func(r *http.Request) (any, error) {
		if q := known(r); q.err != nil {
			return nil, q.err
		}
		return do(r.Context())
	})
}

// ordered makes the handler of a call whose body is a document, and whose answer has this status.
func ordered[In any](status int, do func(r *http.Request, in *In) (any, error)) handler {
	return withBody(status, func(r *http.Request, decode func(any) error) (any, error) {
		in := new(In)
		if err := decode(in); err != nil {
			return nil, err
		}
		return do(r, in)
	})
}

// withBody is what ordered does for documents of all types.
func withBody(status int, do func(r *http.Request, decode func(any) error) (any, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		out, err := do(r, func(in any) error { return adminapi.Decode(w, r, maxBody, in) })
		return adminapi.Answer(w, status, out, err)
	}
}

// done makes the handler of a call that is answered without a document.
func done(do func(r *http.Request) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := do(r); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}

// query reads the parameters of a call. It keeps the first fault.
type query struct {
	url.Values
	err error
}

// known parses the query and rejects unknown parameters.
func known(r *http.Request, names ...string) *query {
	values, err := adminapi.Query(r.URL, names...)
	return &query{values, err}
}

// fail keeps a fault, unless there was one before.
func (q *query) fail(err error) { q.err = cmp.Or(q.err, err) }

// number returns a number, or 0 if the parameter is missing.
func (q *query) number(name string, low, high int) int {
	if q.err != nil {
		return 0
	}
	var n int
	n, q.err = adminapi.Number(q.Values, name, low, high)
	return n
}

// list encodes an empty list as [] rather than null.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

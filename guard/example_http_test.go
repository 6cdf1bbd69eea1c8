package guard_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/bezoar-dev/bezoar/guard"
)

// guarded is middleware for servers in Go: what costs too much is answered
// before next sees it, and what is capped goes on as the guard has left it.
func guarded(g *guard.Guard, kind guard.Kind, next http.Handler) http.Handler {
	const most = 1 << 20 // bytes of a body
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
		if _, long := errors.AsType[*http.MaxBytesError](err); long {
			http.Error(w, "the query is too long", http.StatusRequestEntityTooLarge)
			return
		} else if err != nil {
			http.Error(w, "the query did not arrive", http.StatusBadRequest)
			return
		}
		q := guard.Query{
			Kind: kind, Method: r.Method, Path: r.URL.Path, RawQuery: r.URL.RawQuery, Body: body,
			ContentType: r.Header.Get("Content-Type"), ContentEncoding: r.Header.Get("Content-Encoding"),
		}
		who := guard.Caller{OpaqueID: r.Header.Get("X-Opaque-Id"), Header: r.Header.Get}
		q.Class, q.Caller = g.Classify(who), who.OpaqueID
		var v guard.Verdict
		if g.Check(&q, &v); v.Verdict == guard.Rejected {
			http.Error(w, v.Findings[0].String(), http.StatusBadRequest)
			return
		}
		if v.Body != nil {
			body = v.Body
		}
		if v.RawQuery != "" {
			r.URL.RawQuery = v.RawQuery
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		next.ServeHTTP(w, r)
	})
}

// A GraphQL server in Go guards itself.
func ExampleGuard_Check_middleware() {
	g, err := guard.New(guard.Config{})
	if err != nil {
		panic(err)
	}
	server := guarded(g, guard.GraphQL, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "served") }))
	for _, query := range []string{
		"{ users(first: 20) { name } }",
		"{ users(first: 100) { friends(first: 100) { friends(first: 100) { name } } } }",
	} {
		r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(query))
		r.Header.Set("Content-Type", "application/graphql")
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		fmt.Println(w.Code, strings.TrimSpace(w.Body.String()))
	}
	// Output:
	// 200 served
	// 400 1:45 query.users.friends.friends: gql_nodes is 1010100, limit 500000 (reject): lower first or last along the nesting, for at most 500000 nodes
}

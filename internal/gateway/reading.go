package gateway

import (
	"net/http"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
	"github.com/bezoar-dev/bezoar/internal/gateway/urlpath"
)

// PathMode says what happens to a request whose path can lead to different routes, depending on how a server reads it: with
// encoded slashes decoded or not; with empty segments, dot segments, backslashes and parameters (";x") kept or not; with or
// without regard to capitals and trailing slashes.
type PathMode string

// These are the modes of paths. The modes of two routes count: of the route that the received path leads to, and of the
// route that the decoded path leads to.
const (
	// PathsNormalise decodes and cleans the path until only one reading is left, takes the route of that, and sends the
	// worker that path. Capitals and trailing slashes stay as they are, and the narrower route gets both spellings.
	// Default.
	PathsNormalise PathMode = "normalise"
	// PathsStrict refuses the request with 400.
	PathsStrict PathMode = "strict"
	// PathsRaw takes the path as received, for servers that read it in the same way.
	PathsRaw PathMode = "raw"
)

// choose returns the route of a request, and the path for the worker. Without a route, the status gives the reason. If
// every reading leads to one route, the path is unchanged.
func (t table) choose(method, host, path string) (r *route, forward string, status int) {
	plain, ambiguous := path, urlpath.Unclear(path)
	if ambiguous {
		plain = urlpath.Resolve(path)
	}
	literal, loose, status := t.match(method, host, plain)
	if literal != nil && literal.Paths == PathsRaw || literal == nil && loose != nil && loose.Paths == PathsRaw {
		return literal, path, status
	}
	found, forward, strict := loose, path, literal != loose && (isStrict(literal) || isStrict(loose))
	if ambiguous && !t.sole() {
		other, same := t.agree(method, host, path, loose)
		if !same {
			var ok bool
			if forward, ok = urlpath.Normalise(path); !ok || isStrict(literal) || isStrict(loose) || isStrict(other) {
				return nil, path, http.StatusBadRequest
			}
			_, found, status = t.match(method, host, urlpath.Resolve(forward))
		}
	}
	switch {
	case strict || isStrict(found) && forward != path:
		return nil, path, http.StatusBadRequest
	case found == nil || literal == nil && found.Paths == PathsRaw:
		return nil, path, status
	}
	return found, forward, 0
}

// agree reports whether every reading of the path leads to the route. If not, other is another route that it leads to, if
// there is one.
func (t table) agree(method, host, path string, r *route) (other *route, same bool) {
	all, ok := urlpath.Readings(path)
	if !ok {
		return nil, false
	}
	for _, p := range all {
		if _, other, _ = t.match(method, host, p); other != r {
			return other, false
		}
	}
	return nil, true
}

func isStrict(r *route) bool { return r != nil && r.Paths == PathsStrict }

// takePath sets the request's path.
func (j *job) takePath(path string) {
	if path == j.req.Path {
		return
	}
	target := path
	if _, query, ok := strings.Cut(j.req.Target, "?"); ok {
		target += "?" + query
	}
	j.req.Path, j.req.Target = path, target
}

// refuseNames answers a request with fields that workers may take for fields that the gateway writes or believes, if the
// route refuses such requests.
func (j *job) refuseNames() bool {
	if j.route.Lookalikes != LookalikesRefuse {
		return false
	}
	for i := range j.req.Fields {
		if k := j.req.Fields[i].Key; k == h1.Lookalike || k == h1.Proxy {
			j.from.Close()
			j.problem(problem.Document{
				Type: "ambiguous", Status: http.StatusBadRequest,
				Detail: "The request has a header that servers may take for another one, such as X_Forwarded_For or Proxy.",
			})
			return true
		}
	}
	return false
}

// LookalikeMode says what happens to header fields that CGI-like servers take for others: X_Forwarded_For for
// X-Forwarded-For, Proxy for the environment variable.
type LookalikeMode string

// The modes of such fields.
const (
	LookalikesDrop   LookalikeMode = "drop"   // they do not reach workers; the default
	LookalikesRefuse LookalikeMode = "refuse" // the request is answered 400
)

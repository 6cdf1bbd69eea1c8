package gateway

import (
	"net/http"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
	"github.com/bezoar-dev/bezoar/internal/gateway/urlpath"
)

// PathMode says what becomes of a request whose path leads to one route or to
// another, depending on how a server reads it: with an encoded slash decoded or
// not, with empty segments, dot segments, backslashes and parameters (";x") or
// without, with capitals or trailing slashes told apart or not.
type PathMode string

// The modes of paths. The mode of the route that the path leads to as it came
// counts, and of the one that it leads to when everything is decoded.
const (
	// PathsNormalise decodes and cleans the path until it can be read in one
	// way, takes the route of that, and sends the worker that path. Capitals and
	// trailing slashes stay as they are: the narrower route takes both. Default.
	PathsNormalise PathMode = "normalise"
	// PathsStrict refuses the request with 400.
	PathsStrict PathMode = "strict"
	// PathsRaw takes the path as it came, for servers that read it so.
	PathsRaw PathMode = "raw"
)

// choose returns the route of a request, and the path for the worker. Without a
// route the status says why. A path that every reading takes to one route stays as
// it came.
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

// agree reports whether every reading of the path leads to the route. If not, other
// is one that it also leads to, if any.
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

// takePath makes path the request's.
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

// refuseNames answers a request that has fields which workers may take for ones
// that the gateway writes or believes, if the route wants that.
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

// LookalikeMode says what becomes of header fields that servers in the way of CGI
// take for others: X_Forwarded_For for X-Forwarded-For, Proxy for the setting of
// that name.
type LookalikeMode string

// The modes of such fields.
const (
	LookalikesDrop   LookalikeMode = "drop"   // they do not reach workers; the default
	LookalikesRefuse LookalikeMode = "refuse" // the request is answered 400
)

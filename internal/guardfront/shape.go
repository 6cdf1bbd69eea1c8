package guardfront

import (
	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/guard"
)

// Shape returns the shape of a request that the guard can read, and zero otherwise. It judges and counts nothing.
func (g *Guard) Shape(r *Request) bezoar.Fingerprint {
	if !r.Whole {
		return bezoar.Fingerprint{}
	}
	path, judged, why := g.path(r.Head.Path)
	switch {
	case !judged, why != "", g.Kind == guard.Regex:
		return bezoar.Fingerprint{}
	}
	q := g.query(r, path, why)
	if g.Kind == guard.SQL && len(g.Statement) > 0 {
		texts, why := r.texts(nil, g.Statement)
		if len(texts) != 1 || why != "" {
			return bezoar.Fingerprint{}
		}
		q = only(q, texts[0])
	}
	return g.Guard.Print(&q)
}

// only returns a query for one text within a request.
func only(q guard.Query, text string) guard.Query {
	q.Method, q.Path, q.RawQuery, q.ContentType, q.ContentEncoding, q.Body = "", "", "", "", "", []byte(text)
	return q
}

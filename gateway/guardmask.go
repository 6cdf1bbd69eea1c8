package gateway

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/mask"
)

// veiled makes a line of which nothing is written before it is masked. The class
// is always there: the names by which one would be chosen are not.
func (g *Guard) veiled(q *guard.Query) *recordedQuery {
	line := &recordedQuery{
		At: time.Now(), Kind: q.Kind, Method: q.Method, Dialect: q.Dialect, ContentType: q.ContentType, ContentEncoding: q.ContentEncoding,
		Caller: q.Caller, Class: q.Class, mask: g.Guard, query: *q,
	}
	line.query.Body = bytes.Clone(q.Body)
	return line
}

// mask masks a line. It reports false, and the line is to be dropped, when the
// query cannot be masked, or would be judged otherwise afterwards: limits that are
// tried on a record must say what they would have said.
func (r *GuardRecorder) mask(q *recordedQuery) bool {
	masked, ok := mask.Query(&q.query)
	if !ok || !q.mask.Alike(&q.query, &masked) {
		return false
	}
	q.Body = string(masked.Body)
	q.target(&masked)
	q.Caller = r.pseudonym(q.Caller)
	return true
}

// pseudonym is what a caller is called in masked lines, until this process ends.
func (r *GuardRecorder) pseudonym(caller string) string {
	if caller == "" || caller == guard.Others {
		return caller
	}
	h := hmac.New(sha256.New, r.key[:])
	_, _ = h.Write([]byte(caller)) // never fails
	return "caller-" + hex.EncodeToString(h.Sum(nil)[:6])
}

package guardfront

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// Request is a request of a guarded route, in the guard's view.
type Request struct {
	Head   *h1.Request
	Body   []byte // the held part
	Whole  bool   // Body is complete
	Buffer int    // most bytes of a body that can be held
	ID     string
	Route  string

	Caller    string // the caller's identity by the route's key; "": none
	Hash      uint64 // of Caller
	ByAddress bool   // Caller is an address

	Client Client
	Room   Room
}

// Client is who sent the request.
type Client interface {
	Address() string
}

// Room is the memory for bodies.
type Room interface {
	// Take reserves memory in addition to the body; see [guard.Query].
	Take(n int) bool
	// Reserved returns how much memory is reserved for the request. GiveBack reduces it to an earlier value.
	Reserved() int64
	GiveBack(to int64)
	// Crowded reports whether there was no memory for the body or for Take.
	Crowded() bool
}

// first returns the first value of the field, or "".
func (r *Request) first(k h1.Key) string {
	for i := range r.Head.Fields {
		if r.Head.Fields[i].Key == k {
			return r.Head.Fields[i].Value
		}
	}
	return ""
}

// query returns the request in the guard's form.
func (g *Guard) query(r *Request, path, why string) guard.Query {
	return guard.Query{
		Kind: g.Kind, Method: r.Head.Method, Path: path, RawQuery: r.Head.Query, Dialect: g.Dialect,
		ContentType: r.first(h1.ContentType), ContentEncoding: r.encoding(), Body: r.Body, Unread: why,
		Route: r.Route, Request: r.ID, Room: r.Room,
	}
}

// encoding returns the content encoding of the body. Several fields are one list, because a worker may use any of them.
func (r *Request) encoding() string {
	all := ""
	for i := range r.Head.Fields {
		f := &r.Head.Fields[i]
		switch {
		case !strings.EqualFold(f.Name, "Content-Encoding"):
		case all == "":
			all = f.Value
		default:
			all += ", " + f.Value
		}
	}
	return all
}

// asker returns what the guard's classes may know about the caller.
func (r *Request) asker() guard.Caller {
	c := guard.Caller{OpaqueID: r.Head.Get("X-Opaque-Id"), Header: r.Head.Get}
	scheme, text, ok := strings.Cut(r.Head.Get("Authorization"), " ")
	text = strings.TrimRight(strings.TrimSpace(text), "=") // backends ask for neither
	if !ok || len(text) > 512 {
		return c
	}
	basic := strings.EqualFold(scheme, "Basic")
	if !basic && !strings.EqualFold(scheme, "ApiKey") {
		return c
	}
	decoded, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return c
	}
	id, _, ok := strings.Cut(string(decoded), ":")
	switch {
	case !ok:
	case basic:
		c.User = id
	default:
		c.APIKey = id
	}
	return c
}

// maxAsker bounds a name that a caller chose.
const maxAsker = 256

// askerName returns the name under which the query is counted: the caller's own name, or else its name in lists of callers
// by the route's key, or else its address.
func (g *Guard) askerName(r *Request, c *guard.Caller) string {
	for _, name := range [...]string{c.OpaqueID, c.APIKey, c.User} {
		switch {
		case name == guard.Others: // somebody chose the reserved name
			return strings.Trim(name, "()")
		case len(name) > maxAsker:
			return strings.ToValidUTF8(name[:maxAsker], "")
		case name != "":
			return name
		}
	}
	name := r.Caller
	switch {
	case name == "":
		name = r.Client.Address()
	case g.Name == nil && !r.ByAddress:
		return fmt.Sprintf("#%016x", r.Hash) // it may be a key
	}
	if g.Name != nil {
		return g.Name(name)
	}
	return name
}

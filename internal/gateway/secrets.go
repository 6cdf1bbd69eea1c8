package gateway

import (
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// secrets are the secrets of a request that are registered where a worker's output is read: the same values that a dead
// letter leaves out.
type secrets struct {
	held *redact.Held // nil: none
}

func (k *secrets) know(to *redact.Values, names *redact.Names, req *h1.Request) {
	for i := range req.Fields {
		if f := &req.Fields[i]; (f.Key == h1.Other || f.Key == h1.ProxyAuthorization) && names.Secret(f.Name) {
			if h := k.hold(to, f.Value); h == nil {
				continue
			} else if strings.EqualFold(f.Name, "Cookie") {
				h.AddCookies(f.Value, *names)
			} else {
				h.AddCredentials(f.Value)
			}
		}
	}
	_, query, _ := strings.Cut(req.Target, "?")
	for query != "" {
		pair := query
		if i := strings.IndexAny(query, "&;"); i >= 0 {
			pair, query = query[:i], query[i+1:]
		} else {
			query = ""
		}
		if name, value, _ := strings.Cut(pair, "="); value != "" && names.Parameter(name) {
			if h := k.hold(to, value); h != nil {
				h.AddCredentials(value)
			}
		}
	}
}

// hold registers a value; nil if it is too short.
func (k *secrets) hold(to *redact.Values, value string) *redact.Held {
	if len(value) < redact.MinValue {
		return nil
	}
	if k.held == nil {
		k.held = to.Hold()
	}
	return k.held
}

// forget removes what know registered.
func (k *secrets) forget() {
	if k.held != nil {
		k.held.End()
		k.held = nil
	}
}

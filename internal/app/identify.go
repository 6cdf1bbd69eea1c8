package app

import (
	"fmt"
	"net/http"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// identity is the identity that a described request would have.
type identity struct {
	route       boundRoute
	work, shape bezoar.Fingerprint
}

// identify computes the fingerprint of a described request as the gateway does.
func (a *App) identify(r *adminapi.AddRequest) (identity, error) {
	if a.gateway == nil {
		return identity{}, adminapi.NewProblem(http.StatusNotFound, adminapi.CodeNotFound, "no requests are served here: there are no routes")
	}
	route, work, shape, err := a.gateway.Identify(bezoar.Request{
		Method: r.Method, Target: r.Target, Host: r.Host, Header: r.Header, Body: r.Body,
	})
	if err != nil {
		return identity{}, adminapi.NewProblem(http.StatusBadRequest, adminapi.CodeInvalid, fmt.Sprintf("the request cannot be identified: %v", err))
	}
	for _, b := range a.now.Load().routes {
		if b.name == route {
			return identity{route: b, work: work, shape: shape}, nil
		}
	}
	return identity{}, fmt.Errorf("route %q is not bound", route)
}

// defaultTerm is the first quarantine of a fleet's first route.
func (a *App) defaultTerm(fleet string) time.Duration {
	for _, b := range a.now.Load().routes {
		if b.fleet == fleet {
			return b.term
		}
	}
	return time.Minute
}

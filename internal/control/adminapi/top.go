package adminapi

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// PathTop is who causes most: GET ?by= &window= &limit=, answered by [Top].
const PathTop = "/api/v1/top"

// What callers are ranked by.
const (
	ByCost     = "cost"     // nanoseconds on workers; the default
	ByRequests = "requests" // all of them
	ByRefused  = "refused"  // requests that a rule refused
	ByErrors   = "errors"   // requests that failed or were answered 5xx, those refused left out
	ByBytes    = "bytes"    // of bodies, in both directions
	ByUnits    = "units"    // of the guard's cost
)

// TopDimensions are the values of [TopQuery].By.
func TopDimensions() []string {
	return []string{ByCost, ByRequests, ByRefused, ByErrors, ByBytes, ByUnits}
}

// The values of [TopQuery].Window.
const (
	LastMinute     = "1m"
	LastTenMinutes = "10m"
)

// MaxTop bounds [TopQuery].Limit.
const MaxTop = 100

// TopQuery asks who causes most of what, since when. Zero fields mean ByCost,
// LastMinute and 20.
type TopQuery struct {
	By     string
	Window string
	Limit  int
}

// Top answers GET [PathTop]. Names are as callers give them, and may be cut.
type Top struct {
	By     string    `json:"by"`
	Window string    `json:"window"`
	Since  time.Time `json:"since"` // when what is counted began
	At     time.Time `json:"at"`
	Total  uint64    `json:"total"` // of all callers, also those that routes do not tell apart
	// Error is the bound: no value is too high by more, and nobody who has more
	// is missing.
	Error   uint64      `json:"error"`
	Names   string      `json:"names"` // how callers are shown: clear, label, hash, mixed (it differs between routes) or off
	Callers []TopCaller `json:"callers"`
}

// TopCaller is one of them.
type TopCaller struct {
	Caller string  `json:"caller"`
	Value  uint64  `json:"value"` // at most
	Error  uint64  `json:"error"` // by how much it may be too high
	Share  float64 `json:"share"` // of the total
	// Also is at most how much the caller has of the rest, as far as it is known.
	Also map[string]uint64 `json:"also,omitempty"`
}

// Top says who causes most.
func (c *Client) Top(ctx context.Context, in TopQuery) (Top, error) {
	q := url.Values{}
	for name, v := range map[string]string{"by": in.By, "window": in.Window} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if in.Limit != 0 {
		q.Set("limit", strconv.Itoa(in.Limit))
	}
	return ask[Top](ctx, c, http.MethodGet, PathTop, q, nil, "get the top callers")
}

package adminapi

import (
	"context"
	"net/http"
	"time"
)

// PathTop is the path of the callers with the highest usage: GET ?by= &window= &limit=,
// answered by [Top].
const PathTop = "/api/v1/top"

// What callers are ranked by.
const (
	ByCost     = "cost"     // time on workers in ns; the default
	ByRequests = "requests" // all of them
	ByRefused  = "refused"  // requests that a rule refused
	ByErrors   = "errors"   // failed requests and 5xx answers, without refused requests
	ByBytes    = "bytes"    // bytes of bodies, in both directions
	ByUnits    = "units"    // units of the guard's cost
)

// TopDimensions returns the values of [TopQuery].By.
func TopDimensions() []string {
	return []string{ByCost, ByRequests, ByRefused, ByErrors, ByBytes, ByUnits}
}

// Values of [TopQuery].Window.
const (
	LastMinute     = "1m"
	LastTenMinutes = "10m"
)

// MaxTop is the maximum of [TopQuery].Limit.
const MaxTop = 100

// TopQuery selects a ranking and a time window. The zero fields mean ByCost, LastMinute and
// 20.
type TopQuery struct {
	By     string
	Window string
	Limit  int
}

// Top is the list of callers with the highest usage. Names are those that callers give, and
// may be cut.
type Top struct {
	By     string    `json:"by"`
	Window string    `json:"window"`
	Since  time.Time `json:"since"` // start of the window
	At     time.Time `json:"at"`
	Total  uint64    `json:"total"` // total of all callers, including those that routes do not distinguish
	// Error is the maximum error: no value is too high by more than this, and every caller
	// with a higher value is listed.
	Error   uint64      `json:"error"`
	Names   string      `json:"names"` // how callers are shown: clear, label, hash, mixed (it differs between routes) or off
	Callers []TopCaller `json:"callers"`
}

// TopCaller is one caller in a ranking.
type TopCaller struct {
	Caller string  `json:"caller"`
	Value  uint64  `json:"value"` // upper bound of the value
	Error  uint64  `json:"error"` // maximum by which the value may be too high
	Share  float64 `json:"share"` // share of the total
	// Also is a map of the caller's other values, as upper bounds, as far as they are known.
	Also map[string]uint64 `json:"also,omitempty"`
}

// Top returns the callers with the highest usage.
func (c *Client) Top(ctx context.Context, in TopQuery) (Top, error) {
	q := Params{"by": in.By, "window": in.Window, "limit": in.Limit}.Values()
	return Ask[Top](ctx, c, http.MethodGet, PathTop, q, nil, "get the top callers")
}

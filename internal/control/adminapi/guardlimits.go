package adminapi

import (
	"context"
	"net/http"
)

// PathGuardLimits is the path of a route's guard limits, which are part of the settings:
// GET answers [GuardLimits], PUT takes [PutGuardLimits].
const PathGuardLimits = "/api/v1/guards/{route}/limits"

// GuardLimits is the text of limits in the newest version of the settings.
type GuardLimits struct {
	Route   string   `json:"route"`
	Version int64    `json:"version"`        // version of the settings, to be used as the base of a change
	File    string   `json:"file,omitempty"` // file that the settings name; empty: the limits are in the settings themselves
	Routes  []string `json:"routes"`         // routes whose guards have these limits
	Text    []byte   `json:"text"`
}

// PutGuardLimits is a request to replace a text of limits. It creates a new version of the
// settings without any other change.
type PutGuardLimits struct {
	Text []byte `json:"text"` // text of the limits, at most 1 MiB
	Note string `json:"note,omitempty"`
	// Base is the version of the settings on which the change was made. If it is no longer
	// the newest, nothing changes and the answer is 409. Without it, the text is changed in
	// any case.
	Base *int64 `json:"base,omitempty"`
}

// GuardLimits returns the limits of a route's guard.
func (c *Client) GuardLimits(ctx context.Context, route string) (GuardLimits, error) {
	return Ask[GuardLimits](ctx, c, http.MethodGet, Path(PathGuardLimits, route), nil, nil, "get the limits of route %.255q", route)
}

// PutGuardLimits replaces the limits of a route's guard, and of all guards with the same
// file.
func (c *Client) PutGuardLimits(ctx context.Context, route string, in PutGuardLimits) (Changed, error) {
	return Ask[Changed](ctx, c, http.MethodPut, Path(PathGuardLimits, route), nil, in, "put the limits of route %.255q", route)
}

package adminapi

import (
	"context"
	"net/http"

	"github.com/bezoar-dev/bezoar/internal/control/live"
)

// PathGuardLimits are the limits of a route's guard, which are part of the
// settings: GET answers [GuardLimits], PUT [PutGuardLimits].
const PathGuardLimits = "/api/v1/guards/{route}/limits"

// GuardLimits is a text of limits as the newest version of the settings has it.
type GuardLimits struct {
	Route   string   `json:"route"`
	Version int64    `json:"version"`        // of the settings: the base of a change
	File    string   `json:"file,omitempty"` // that the settings name; "": the limits are written there
	Routes  []string `json:"routes"`         // whose guards have these limits
	Text    []byte   `json:"text"`
}

// PutGuardLimits asks for another text, and so for another version of the
// settings, of which nothing else changes.
type PutGuardLimits struct {
	Text []byte `json:"text"` // at most live.MaxText bytes
	Note string `json:"note,omitempty"`
	// Base is the version of the settings that the change was made on: if it is no
	// longer the newest, nothing changes, 409. Nil: on top of whatever is.
	Base *int64 `json:"base,omitempty"`
}

// GuardLimits returns the limits of a route's guard.
func (c *Client) GuardLimits(ctx context.Context, route string) (GuardLimits, error) {
	return ask[GuardLimits](ctx, c, http.MethodGet, fill(PathGuardLimits, route), nil, nil, "get the limits of route %.255q", route)
}

// PutGuardLimits changes the limits of a route's guard, and of those that share
// its file.
func (c *Client) PutGuardLimits(ctx context.Context, route string, in PutGuardLimits) (Changed, error) {
	return ask[Changed](ctx, c, http.MethodPut, fill(PathGuardLimits, route), nil, in, "put the limits of route %.255q", route)
}

// Fits reports whether the text is one that a version can have.
func (in PutGuardLimits) Fits() bool { return len(in.Text) <= live.MaxText }

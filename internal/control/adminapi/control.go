package adminapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// Paths of the operators' controls: settings, overrides and circuit breakers; and of the
// health report.
const (
	PathSettings  = "/api/v1/settings"                 // GET [live.Status], PUT [PutSettings]
	PathVersions  = "/api/v1/settings/versions"        // GET ?limit=
	PathVersion   = "/api/v1/settings/versions/{id}"   // GET [live.Version] with its text; newest stands for the newest
	PathTry       = "/api/v1/settings/try"             // POST [PutSettings]: answers [Tried] and changes nothing
	PathDiff      = "/api/v1/settings/diff"            // GET ?from= &to=; without them: the changes by the running version. POST [Compare]
	PathRollback  = "/api/v1/settings/rollback"        // POST [Rollback]
	PathOverrides = "/api/v1/overrides"                // GET, POST [SetOverride]
	PathOverride  = "/api/v1/overrides/{id}"           // DELETE
	PathBreakers  = "/api/v1/breakers"                 // GET
	PathForce     = "/api/v1/breakers/{name}/override" // PUT [ForceBreaker], DELETE
	PathHealth    = "/api/v1/health"                   // GET: the detailed health report
)

// Newest stands for the newest version in [PathVersion].
const Newest = "newest"

// MaxForce is the longest time for which a breaker can be held open or closed.
const MaxForce = 30 * 24 * time.Hour

// Codes of a [Problem] about settings.
const (
	// CodeInvalidSettings is 422: nothing has changed, and Faults gives the reasons.
	CodeInvalidSettings = "invalid-settings"
	// CodeFixed is 404: the settings of this process cannot be changed.
	CodeFixed = "fixed-settings"
	// CodeFull is 409: the maximum number is reached.
	CodeFull = "full"
)

// PutSettings is a request for a new version of the settings.
type PutSettings struct {
	Text []byte `json:"text"` // text of the settings, at most 1 MiB
	Note string `json:"note,omitempty"`
	// Base is the version on which the change was made. If it is no longer the newest,
	// nothing changes and the answer is 409. Without it, the text replaces the newest
	// version in any case.
	Base *int64 `json:"base,omitempty"`
}

// Tried is the result that a put of the settings would have. The request is refused as a
// put would be.
type Tried struct {
	Before int64  `json:"before"` // number of the newest version
	New    bool   `json:"new"`    // false if the newest version has the same text
	Diff   string `json:"diff"`   // differences from the newest version to the text, without secrets
	// NextStart is the list of settings that would take effect only when the process starts
	// again.
	NextStart []string `json:"next_start,omitempty"`
}

// Rollback is a request to return to the text of an older version. 0 stands for the version
// before the running one.
type Rollback struct {
	To int64 `json:"to,omitempty"`
}

// Changed is the answer to a change of the settings.
type Changed struct {
	Version live.Version `json:"version"` // the new version, without its text
	Before  int64        `json:"before"`  // number of the version that ran before
	New     bool         `json:"new"`     // false if the newest version had the same text
	// Error is the reason why the new version does not run here, although it is stored and
	// wanted.
	Error string `json:"error,omitempty"`
	// NextStart is the list of settings that take effect only when the process starts
	// again.
	NextStart []string `json:"next_start,omitempty"`
}

// Versions is a list of versions without their texts, newest first.
type Versions struct {
	Versions []live.Version `json:"versions"`
}

// Diff is a comparison of two versions.
type Diff struct {
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Text string `json:"text"` // differences in the unified format; empty if the texts are equal
}

// Compare is a request to compare a text with a version.
type Compare struct {
	From int64  `json:"from,omitempty"` // number of the version; 0: the running one
	Name string `json:"name,omitempty"` // name of the text in the answer
	Text []byte `json:"text"`
}

// SetOverride is a request for an override.
type SetOverride struct {
	Route  string `json:"route,omitempty"`  // name of a route; empty: every route
	Caller string `json:"caller,omitempty"` // a caller; empty: every caller
	Plan   string `json:"plan,omitempty"`   // name of a plan; empty: every plan
	// For overrides of query limits, as in [live.Override].
	Class     string `json:"class,omitempty"`
	Predictor string `json:"predictor,omitempty"`
	Index     string `json:"index,omitempty"`

	What   string   `json:"what"` // what the override changes, as in live.Override
	Factor float64  `json:"factor,omitempty"`
	Value  string   `json:"value,omitempty"`
	For    Duration `json:"for"` // how long it lasts, at most 30 days
	Reason string   `json:"reason,omitempty"`
}

// Overrides is the list of overrides in force, oldest first.
type Overrides struct {
	Overrides []live.Override `json:"overrides"`
}

// Breakers is the list of circuit breakers, by name.
type Breakers struct {
	Breakers []circuit.Status `json:"breakers"`
}

// ForceBreaker is a request to hold a breaker open or closed.
type ForceBreaker struct {
	State breaker.State `json:"state"` // open or closed
	For   Duration      `json:"for"`   // how long it lasts, at most 30 days
}

// Settings returns which settings run, here and on the other nodes.
func (c *Client) Settings(ctx context.Context) (live.Status, error) {
	return Ask[live.Status](ctx, c, http.MethodGet, PathSettings, nil, nil, "get the status of the settings")
}

// PutSettings makes a text the newest version.
func (c *Client) PutSettings(ctx context.Context, in PutSettings) (Changed, error) {
	var out Changed
	if len(in.Text) > live.MaxText {
		return out, fmt.Errorf("put settings: %d bytes, at most %d", len(in.Text), live.MaxText)
	}
	err := c.call(ctx, http.MethodPut, PathSettings, nil, in, &out)
	return out, wrap(err, "put settings")
}

// TrySettings returns what PutSettings would do.
func (c *Client) TrySettings(ctx context.Context, in PutSettings) (Tried, error) {
	var out Tried
	if len(in.Text) > live.MaxText {
		return out, fmt.Errorf("try settings: %d bytes, at most %d", len(in.Text), live.MaxText)
	}
	err := c.call(ctx, http.MethodPost, PathTry, nil, in, &out)
	return out, wrap(err, "try settings")
}

// Rollback makes the text of an older version the newest.
func (c *Client) Rollback(ctx context.Context, to int64) (Changed, error) {
	return Ask[Changed](ctx, c, http.MethodPost, PathRollback, nil, Rollback{to}, "roll the settings back")
}

// Versions lists the newest versions without their texts; limit 0 means all.
func (c *Client) Versions(ctx context.Context, limit int) ([]live.Version, error) {
	out, err := Ask[Versions](ctx, c, http.MethodGet, PathVersions, Params{"limit": limit}.Values(), nil, "list the versions of the settings")
	return out.Versions, err
}

// Version returns one version whole; 0 means the newest.
func (c *Client) Version(ctx context.Context, number int64) (live.Version, error) {
	id := Newest
	if number != 0 {
		id = strconv.FormatInt(number, 10)
	}
	return Ask[live.Version](ctx, c, http.MethodGet, Path(PathVersion, id), nil, nil, "get version %s of the settings", id)
}

// Diff compares two versions. To 0 means the running version, from 0 the version before to.
func (c *Client) Diff(ctx context.Context, from, to int64) (Diff, error) {
	return Ask[Diff](ctx, c, http.MethodGet, PathDiff, Params{"from": from, "to": to}.Values(), nil, "compare versions of the settings")
}

// Compare compares a text with a version.
func (c *Client) Compare(ctx context.Context, in Compare) (Diff, error) {
	return Ask[Diff](ctx, c, http.MethodPost, PathDiff, nil, in, "compare settings")
}

// Overrides lists the overrides in force.
func (c *Client) Overrides(ctx context.Context) ([]live.Override, error) {
	out, err := Ask[Overrides](ctx, c, http.MethodGet, PathOverrides, nil, nil, "list overrides")
	return out.Overrides, err
}

// SetOverride sets an override. It replaces an override of the same target.
func (c *Client) SetOverride(ctx context.Context, in SetOverride) (live.Override, error) {
	return Ask[live.Override](ctx, c, http.MethodPost, PathOverrides, nil, in, "override %.20s", in.What)
}

// LiftOverride ends an override before its time.
func (c *Client) LiftOverride(ctx context.Context, id string) error {
	return wrap(c.call(ctx, http.MethodDelete, Path(PathOverride, id), nil, nil, nil), "lift override %.80q", id)
}

// Breakers lists the circuit breakers.
func (c *Client) Breakers(ctx context.Context) ([]circuit.Status, error) {
	out, err := Ask[Breakers](ctx, c, http.MethodGet, PathBreakers, nil, nil, "list circuit breakers")
	return out.Breakers, err
}

// ForceBreaker holds a breaker open or closed on all nodes.
func (c *Client) ForceBreaker(ctx context.Context, name string, in ForceBreaker) (circuit.Status, error) {
	return Ask[circuit.Status](ctx, c, http.MethodPut, Path(PathForce, name), nil, in, "force circuit breaker %.255q", name)
}

// ResetBreaker ends a ForceBreaker.
func (c *Client) ResetBreaker(ctx context.Context, name string) (circuit.Status, error) {
	return Ask[circuit.Status](ctx, c, http.MethodDelete, Path(PathForce, name), nil, nil, "reset circuit breaker %.255q", name)
}

// Health returns the health report of the process, in the format of package health.
func (c *Client) Health(ctx context.Context) (json.RawMessage, error) {
	return Ask[json.RawMessage](ctx, c, http.MethodGet, PathHealth, nil, nil, "get the report of health")
}

package adminapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// The paths of what operators steer with: settings, overrides and circuit
// breakers; and how this process is.
const (
	PathSettings  = "/api/v1/settings"                 // GET [live.Status], PUT [PutSettings]
	PathVersions  = "/api/v1/settings/versions"        // GET ?limit=
	PathVersion   = "/api/v1/settings/versions/{id}"   // GET [live.Version], whole; newest for the newest
	PathTry       = "/api/v1/settings/try"             // POST [PutSettings]: nothing changes, [Tried]
	PathDiff      = "/api/v1/settings/diff"            // GET ?from= &to=; without them: what the running version changed. POST [Compare]
	PathRollback  = "/api/v1/settings/rollback"        // POST [Rollback]
	PathOverrides = "/api/v1/overrides"                // GET, POST [SetOverride]
	PathOverride  = "/api/v1/overrides/{id}"           // DELETE
	PathBreakers  = "/api/v1/breakers"                 // GET
	PathForce     = "/api/v1/breakers/{name}/override" // PUT [ForceBreaker], DELETE
	PathHealth    = "/api/v1/health"                   // GET: a report with all details
)

// Newest stands for the newest version in [PathVersion].
const Newest = "newest"

// MaxForce bounds how long a breaker is held open or closed.
const MaxForce = 30 * 24 * time.Hour

// The codes of a [Problem] about settings.
const (
	// CodeInvalidSettings is 422: nothing has changed, and Faults say why.
	CodeInvalidSettings = "invalid-settings"
	// CodeFixed is 404: this process follows no settings.
	CodeFixed = "fixed-settings"
	// CodeFull is 409: there are as many as there may be.
	CodeFull = "full"
)

// PutSettings asks for a new version.
type PutSettings struct {
	Text []byte `json:"text"` // at most live.MaxText bytes
	Note string `json:"note,omitempty"`
	// Base is the version that the change was made on: if it is no longer the
	// newest, nothing changes, 409. Nil: on top of whatever is.
	Base *int64 `json:"base,omitempty"`
}

// Tried is what [PutSettings] would have come to: it answers POST [PathTry],
// which is refused as a put would be.
type Tried struct {
	Before int64  `json:"before"` // the newest version
	New    bool   `json:"new"`    // false: it has that text already
	Diff   string `json:"diff"`   // from it to the text, without secrets
	// NextStart are the settings that would change only when the process starts.
	NextStart []string `json:"next_start,omitempty"`
}

// Rollback asks for the text of an older version. 0 means the one before that
// which runs.
type Rollback struct {
	To int64 `json:"to,omitempty"`
}

// Changed answers a change of the settings.
type Changed struct {
	Version live.Version `json:"version"` // without its text
	Before  int64        `json:"before"`  // what ran until then
	New     bool         `json:"new"`     // false: the newest had that text already
	// Error says why the version, which is kept and wanted, does not run here.
	Error string `json:"error,omitempty"`
	// NextStart are the settings that change only when the process starts.
	NextStart []string `json:"next_start,omitempty"`
}

// Versions answers GET [PathVersions], the newest first, without texts.
type Versions struct {
	Versions []live.Version `json:"versions"`
}

// Diff answers GET [PathDiff].
type Diff struct {
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Text string `json:"text"` // in the unified format; "" if the texts are equal
}

// Compare asks what putting a text would change.
type Compare struct {
	From int64  `json:"from,omitempty"` // 0: the version that runs
	Name string `json:"name,omitempty"` // of the text, in the answer
	Text []byte `json:"text"`
}

// SetOverride asks for an override.
type SetOverride struct {
	Route  string `json:"route,omitempty"`  // "": every route
	Caller string `json:"caller,omitempty"` // "": every caller
	Plan   string `json:"plan,omitempty"`   // "": every plan
	// Of queries, as in [live.Override].
	Class     string `json:"class,omitempty"`
	Predictor string `json:"predictor,omitempty"`
	Index     string `json:"index,omitempty"`

	What   string   `json:"what"` // as in [live.Override]
	Factor float64  `json:"factor,omitempty"`
	Value  string   `json:"value,omitempty"`
	For    Duration `json:"for"` // up to live.MaxOverride
	Reason string   `json:"reason,omitempty"`
}

// Overrides answers GET [PathOverrides]: those in force, the oldest first.
type Overrides struct {
	Overrides []live.Override `json:"overrides"`
}

// Breakers answers GET [PathBreakers], by name.
type Breakers struct {
	Breakers []circuit.Status `json:"breakers"`
}

// ForceBreaker holds a breaker open or closed.
type ForceBreaker struct {
	State breaker.State `json:"state"` // open or closed
	For   Duration      `json:"for"`   // up to MaxForce
}

// Settings says which settings run, here and on the other nodes.
func (c *Client) Settings(ctx context.Context) (live.Status, error) {
	return ask[live.Status](ctx, c, http.MethodGet, PathSettings, nil, nil, "get the status of the settings")
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

// TrySettings says what PutSettings would do.
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
	return ask[Changed](ctx, c, http.MethodPost, PathRollback, nil, Rollback{to}, "roll the settings back")
}

// Versions lists the newest versions without their texts; limit 0 means all.
func (c *Client) Versions(ctx context.Context, limit int) ([]live.Version, error) {
	q := url.Values{}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	out, err := ask[Versions](ctx, c, http.MethodGet, PathVersions, q, nil, "list the versions of the settings")
	return out.Versions, err
}

// Version returns one version whole; 0 means the newest.
func (c *Client) Version(ctx context.Context, number int64) (live.Version, error) {
	id := Newest
	if number != 0 {
		id = strconv.FormatInt(number, 10)
	}
	return ask[live.Version](ctx, c, http.MethodGet, fill(PathVersion, id), nil, nil, "get version %s of the settings", id)
}

// Diff says what changed between two versions. To 0 means the one that runs,
// from 0 the one before to.
func (c *Client) Diff(ctx context.Context, from, to int64) (Diff, error) {
	q := url.Values{}
	for name, n := range map[string]int64{"from": from, "to": to} {
		if n != 0 {
			q.Set(name, strconv.FormatInt(n, 10))
		}
	}
	return ask[Diff](ctx, c, http.MethodGet, PathDiff, q, nil, "compare versions of the settings")
}

// Compare says what putting a text would change.
func (c *Client) Compare(ctx context.Context, in Compare) (Diff, error) {
	return ask[Diff](ctx, c, http.MethodPost, PathDiff, nil, in, "compare settings")
}

// Overrides lists what is in force.
func (c *Client) Overrides(ctx context.Context) ([]live.Override, error) {
	out, err := ask[Overrides](ctx, c, http.MethodGet, PathOverrides, nil, nil, "list overrides")
	return out.Overrides, err
}

// SetOverride puts an override in force, in place of one of the same target.
func (c *Client) SetOverride(ctx context.Context, in SetOverride) (live.Override, error) {
	return ask[live.Override](ctx, c, http.MethodPost, PathOverrides, nil, in, "override %.20s", in.What)
}

// LiftOverride ends an override before its time.
func (c *Client) LiftOverride(ctx context.Context, id string) error {
	return wrap(c.call(ctx, http.MethodDelete, fill(PathOverride, id), nil, nil, nil), "lift override %.80q", id)
}

// Breakers lists the circuit breakers.
func (c *Client) Breakers(ctx context.Context) ([]circuit.Status, error) {
	out, err := ask[Breakers](ctx, c, http.MethodGet, PathBreakers, nil, nil, "list circuit breakers")
	return out.Breakers, err
}

// ForceBreaker holds a breaker open or closed, everywhere.
func (c *Client) ForceBreaker(ctx context.Context, name string, in ForceBreaker) (circuit.Status, error) {
	return ask[circuit.Status](ctx, c, http.MethodPut, fill(PathForce, name), nil, in, "force circuit breaker %.255q", name)
}

// ResetBreaker ends what ForceBreaker began.
func (c *Client) ResetBreaker(ctx context.Context, name string) (circuit.Status, error) {
	return ask[circuit.Status](ctx, c, http.MethodDelete, fill(PathForce, name), nil, nil, "reset circuit breaker %.255q", name)
}

// Health says how the process that answers is, as package health reports it.
func (c *Client) Health(ctx context.Context) (json.RawMessage, error) {
	return ask[json.RawMessage](ctx, c, http.MethodGet, PathHealth, nil, nil, "get the report of health")
}

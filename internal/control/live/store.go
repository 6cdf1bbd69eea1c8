package live

import (
	"context"
	"errors"
	"time"
)

// Limits of a [Store].
const (
	MaxText      = 1 << 20             // bytes of one version's text
	KeepVersions = 100                 // number of newest versions to keep
	MaxVersions  = KeepVersions + 1    // with the newest version from a file
	MaxOverrides = 1_000               // in force at one time
	MaxOverride  = 30 * 24 * time.Hour // longest duration of an override
	MaxNodes     = 1_000               // in a list
)

var (
	// ErrNotFound is returned if there is no such version or override.
	ErrNotFound = errors.New("not found")
	// ErrConflict is returned by a put whose base is not the newest version.
	ErrConflict = errors.New("there is a newer version")
	// ErrFull is returned if MaxOverrides are in force.
	ErrFull = errors.New("too many overrides")
)

// Store keeps versions, overrides and the nodes' reports. The nodes of a cluster share it.
// When a method returns nil, its changes survive kill -9, except nodes' reports, which only
// need to live for their ttl if several processes share the store. Only the store's clock
// measures time. Every method is safe for concurrent use and honours ctx. The test suite
// internal/control/live/livetest specifies the behaviour.
type Store interface {
	// Revision returns a number that grows with every change of versions or overrides. It
	// is called many times per second and must cost only one read of one row.
	Revision(ctx context.Context) (int64, error)

	// PutVersion stores v under the number after base, with the store's time, if base is
	// the newest version's number (0: there is none). Otherwise it returns ErrConflict and
	// changes nothing. The store keeps the newest KeepVersions, and the newest version with
	// the source FromFile, by which a starting node recognizes that its file is older than
	// a later put.
	PutVersion(ctx context.Context, base int64, v Version) (Version, error)
	// Version returns one version with its text, or ErrNotFound. Number 0 means the newest.
	Version(ctx context.Context, number int64) (Version, error)
	// Versions lists the newest versions without their texts, newest first. limit is 1 to
	// MaxVersions.
	Versions(ctx context.Context, limit int) ([]Version, error)

	// PutOverride stores o for ttl from now on. It replaces an override of the same target
	// and What, whatever its ID. The store sets Since and Until.
	PutOverride(ctx context.Context, o Override, ttl time.Duration) (Override, error)
	// DeleteOverride ends an override early, or returns ErrNotFound.
	DeleteOverride(ctx context.Context, id string) error
	// Overrides lists the overrides in force, oldest first, then by ID. now is the store's
	// time.
	Overrides(ctx context.Context) (found []Override, now time.Time, err error)

	// PutNode stores the report n for ttl. The store sets Seen. The revision does not
	// change.
	PutNode(ctx context.Context, n Node, ttl time.Duration) error
	// Nodes lists the first MaxNodes nodes with a valid report, by name.
	Nodes(ctx context.Context) ([]Node, error)
}

// Sources of a version.
const (
	FromFile     = "file"
	FromAPI      = "api"
	FromRollback = "rollback"
)

// Version is one text of settings.
type Version struct {
	Number int64     `json:"number"` // from 1, without gaps; 0: not yet in the store
	At     time.Time `json:"at"`     // time of the put, by the store's clock
	By     string    `json:"by"`
	Source string    `json:"source"` // one of file, api, rollback
	Note   string    `json:"note,omitempty"`
	Sum    string    `json:"sum"` // SHA-256 of the text, in hex
	Text   []byte    `json:"text,omitempty"`
}

// Changes by an [Override].
const (
	Rate        = "rate"         // multiplies the limits of rate by Factor
	Concurrency = "concurrency"  // multiplies the limits of concurrency by Factor
	Priority    = "priority"     // sets the priority to Value
	Deny        = "deny"         // refuses everything
	Breaker     = "breaker"      // sets the breaker to Value, open or closed
	Guard       = "guard"        // multiplies the limits of queries by Factor
	GuardLimit  = "guard-limit"  // sets the limit of Predictor to Value: 5000, "64k report", off
	GuardReport = "guard-report" // reports queries only
)

// Override changes settings for some work, for a limited time.
type Override struct {
	ID     string `json:"id"`
	Route  string `json:"route,omitempty"`  // name of a route; empty: every route
	Caller string `json:"caller,omitempty"` // a caller; empty: every caller
	Plan   string `json:"plan,omitempty"`   // name of a plan; empty: every plan

	// For query limits: a class of callers, "" for all. For GuardLimit: the predictor, and
	// a pattern of indices or tables, "" for all. For query limits, Caller is a pattern.
	Class     string `json:"class,omitempty"`
	Predictor string `json:"predictor,omitempty"`
	Index     string `json:"index,omitempty"`

	What   string    `json:"what"`
	Factor float64   `json:"factor,omitempty"`
	Value  string    `json:"value,omitempty"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
}

// Node is the report of one process.
type Node struct {
	Name      string    `json:"name"`
	Running   int64     `json:"running"` // number of the running version; 0 with a Sum: a version that is not yet in the store
	Sum       string    `json:"sum,omitempty"`
	Wanted    int64     `json:"wanted"`          // number of the wanted version; equals running unless there is an error
	Error     string    `json:"error,omitempty"` // reason why the wanted version does not run
	Overrides int       `json:"overrides"`       // number of overrides in force
	Since     time.Time `json:"since"`           // since when the version runs, by the node's clock
	Seen      time.Time `json:"seen"`            // time of the report, by the store's clock
}

package live

import (
	"context"
	"errors"
	"time"
)

// What a [Store] keeps and accepts at most.
const (
	MaxText      = 1 << 20             // bytes of one version's text
	KeepVersions = 100                 // the newest versions; older ones go
	MaxVersions  = KeepVersions + 1    // with the newest that came from a file
	MaxOverrides = 1_000               // at one time
	MaxOverride  = 30 * 24 * time.Hour // that one may last
	MaxNodes     = 1_000               // that are listed
)

var (
	// ErrNotFound is returned when there is no such version or override.
	ErrNotFound = errors.New("not found")
	// ErrConflict is returned by a put whose base is not the newest version.
	ErrConflict = errors.New("there is a newer version")
	// ErrFull is returned when MaxOverrides are in force.
	ErrFull = errors.New("too many overrides")
)

// Store keeps versions and overrides, and who runs what. Nodes of one cluster
// share it. What a method has returned nil for survives kill -9, except
// presence, which need only outlive its time to live where several processes
// share the store. The store's clock alone judges time. Every method is safe
// for concurrent use and honours ctx; the suite in internal/control/live/livetest says
// exactly what an implementation owes.
type Store interface {
	// Revision changes, upwards, with every change of versions or overrides.
	// It is asked for many times a second and must cost one read of one row.
	Revision(ctx context.Context) (int64, error)

	// PutVersion keeps v under the number after base, at the store's time, if
	// base is the newest version's number (0: there is none). Otherwise it
	// returns ErrConflict and changes nothing. Then the newest
	// KeepVersions stay, and the newest of FromFile, by which a node knows
	// at its start that its file is older than what has been put since.
	PutVersion(ctx context.Context, base int64, v Version) (Version, error)
	// Version returns one version whole, or ErrNotFound; number 0 means the
	// newest.
	Version(ctx context.Context, number int64) (Version, error)
	// Versions lists the newest versions without their texts, newest first;
	// limit is 1 to MaxVersions.
	Versions(ctx context.Context, limit int) ([]Version, error)

	// PutOverride keeps o from now on for ttl. One of the same target and What
	// makes room, whatever its id. Since and Until are the store's.
	PutOverride(ctx context.Context, o Override, ttl time.Duration) (Override, error)
	// DeleteOverride ends one before its time, or returns ErrNotFound.
	DeleteOverride(ctx context.Context, id string) error
	// Overrides lists those in force, oldest first, then by id, and says what
	// time it is.
	Overrides(ctx context.Context) (found []Override, now time.Time, err error)

	// PutNode says for ttl that n is there; Seen is the store's. It does not
	// change the revision.
	PutNode(ctx context.Context, n Node, ttl time.Duration) error
	// Nodes lists by name the first MaxNodes of those that are there.
	Nodes(ctx context.Context) ([]Node, error)
}

// Where a version came from.
const (
	FromFile     = "file"
	FromAPI      = "api"
	FromRollback = "rollback"
)

// Version is one text that was, is or shall be in force.
type Version struct {
	Number int64     `json:"number"` // from 1, without gaps; 0: the store has not got it yet
	At     time.Time `json:"at"`     // by the store's clock
	By     string    `json:"by"`
	Source string    `json:"source"` // FromFile, FromAPI or FromRollback
	Note   string    `json:"note,omitempty"`
	Sum    string    `json:"sum"` // SHA-256 of the text, in hex
	Text   []byte    `json:"text,omitempty"`
}

// What an [Override] changes.
const (
	Rate        = "rate"         // Factor times the limits of rate
	Concurrency = "concurrency"  // Factor times the limits of concurrency
	Priority    = "priority"     // Value is the priority
	Deny        = "deny"         // nothing is served
	Breaker     = "breaker"      // Value is open or closed
	Guard       = "guard"        // Factor times the limits of queries
	GuardLimit  = "guard-limit"  // Value is the limit of Predictor: 5000, "64k report", off
	GuardReport = "guard-report" // queries are reported only
)

// Override changes what the settings say, for some work and a time.
type Override struct {
	ID     string `json:"id"`
	Route  string `json:"route,omitempty"`  // "": every route
	Caller string `json:"caller,omitempty"` // "": every caller
	Plan   string `json:"plan,omitempty"`   // "": every plan

	// Of queries: a class of callers, "" for all of them; of GuardLimit what is
	// limited, and a pattern of indices or tables, "" for all of them. There
	// Caller is a pattern, too.
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

// Node is what one process says of itself.
type Node struct {
	Name      string    `json:"name"`
	Running   int64     `json:"running"` // the number of the version; 0 with a Sum: one that the store has not got yet
	Sum       string    `json:"sum,omitempty"`
	Wanted    int64     `json:"wanted"`          // Running, unless something is in the way
	Error     string    `json:"error,omitempty"` // what that is
	Overrides int       `json:"overrides"`       // in force there
	Since     time.Time `json:"since"`           // it runs that version since then, by its own clock
	Seen      time.Time `json:"seen"`            // it said so then, by the store's clock
}

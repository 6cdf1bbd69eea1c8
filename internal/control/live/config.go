package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Config configures a [Live]. Store, Node and Apply are required.
type Config struct {
	// Path is the file to watch; empty: none.
	Path string
	// Store keeps versions and overrides. All nodes of a cluster share it.
	Store Store
	// Node is the name of this process in the cluster.
	Node string
	// Files returns the files that a settings text names and that belong to it. Their
	// content is stored, compared and rolled back with each version. For an invalid text,
	// it returns the files that it finds. nil: no files.
	Files func(text []byte) []string
	// Check returns an error if a text cannot be applied, naming the line. It has no side
	// effects. nil accepts every text.
	Check func(text []byte) error
	// Admit is Check for a text that is to become a version. It may look at files of this
	// machine. name is the file of the text; "" for one that a user sent. nil means Check.
	Admit func(name string, text []byte) error
	// Hide removes from an error of Check the quotes of files that were read on this node
	// on behalf of a user, who may not be allowed to read them. nil: no change.
	Hide func(err error, files []string) error
	// CheckOverride returns errors of an override that [Override.Validate] does not detect,
	// such as an unknown route. nil: no further checks.
	CheckOverride func(Override) error
	// Apply puts a version and the overrides into effect, or returns an error and changes
	// nothing. Live calls it from one goroutine at a time, in order.
	Apply func(ctx context.Context, v Version, overrides []Override) error

	// Poll is the interval at which the store is checked for changes; 0 means 100 ms.
	Poll time.Duration
	// SlowPoll is the interval at which the file is checked without a notification, and at
	// which a failed Apply is repeated; 0 means 10 s.
	SlowPoll time.Duration
	// Settle is how long the file must stay unchanged before it is read; 0 means 100 ms.
	Settle time.Duration
	// Beat is the interval at which this node reports its version; 0 means 2 s. Other nodes
	// consider a report valid for five beats.
	Beat time.Duration
	// Timeout is the time limit of each call of the store; 0 means 2 s.
	Timeout time.Duration

	// Log is the log; nil discards.
	Log *slog.Logger
	// Observe is called for each event, from any goroutine, after the status has changed.
	// It must return quickly, and may call only Status. nil: not called.
	Observe func(Event)
}

// Validate returns one error that names every invalid field, or nil.
func (c Config) Validate() error {
	f := flaws{}
	f.If(c.Store == nil, "Store: is nil")
	f.If(c.Apply == nil, "Apply: is nil")
	f.text("Node", c.Node, 1, maxName)
	for _, d := range []struct {
		name string
		d    time.Duration
		most time.Duration
	}{
		{"Poll", c.Poll, time.Minute},
		{"SlowPoll", c.SlowPoll, time.Hour},
		{"Settle", c.Settle, 5 * time.Second},
		{"Beat", c.Beat, time.Minute},
		{"Timeout", c.Timeout, time.Minute},
	} {
		f.If(d.d < 0 || d.d > d.most, "%s: %v is not between 0 and %v", d.name, d.d, d.most)
	}
	return f.join()
}

// String returns the configuration without secrets.
func (c Config) String() string {
	return fmt.Sprintf("{Path:%s Node:%s Poll:%v SlowPoll:%v Settle:%v Beat:%v Timeout:%v}",
		c.Path, c.Node, c.Poll, c.SlowPoll, c.Settle, c.Beat, c.Timeout)
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		d *time.Duration
		v time.Duration
	}{
		{&c.Poll, 100 * time.Millisecond},
		{&c.SlowPoll, 10 * time.Second},
		{&c.Settle, 100 * time.Millisecond},
		{&c.Beat, 2 * time.Second},
		{&c.Timeout, 2 * time.Second},
	} {
		*d.d = cmp.Or(*d.d, d.v)
	}
	if c.Hide == nil {
		c.Hide = func(err error, _ []string) error { return err }
	}
	if c.Check == nil {
		c.Check = func([]byte) error { return nil }
	}
	if c.Admit == nil {
		c.Admit = func(_ string, text []byte) error { return c.Check(text) }
	}
	if c.Files == nil {
		c.Files = func([]byte) []string { return nil }
	}
	if c.CheckOverride == nil {
		c.CheckOverride = func(Override) error { return nil }
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Observe == nil {
		c.Observe = func(Event) {}
	}
	return c
}

// InvalidError is the reason why a text cannot run. Nothing has changed.
type InvalidError struct {
	What string // such as "the file /etc/bezoar.yaml", "version 7"
	Err  error  // returned by Check
}

func (e *InvalidError) Error() string { return e.What + " is invalid: " + e.Err.Error() }

func (e *InvalidError) Unwrap() error { return e.Err }

// ApplyError is the reason why a valid version does not run here. The previous version
// still runs.
type ApplyError struct {
	Version int64
	Err     error // returned by Apply
}

func (e *ApplyError) Error() string {
	return fmt.Sprintf("version %d cannot be applied: %v", e.Version, e.Err)
}

func (e *ApplyError) Unwrap() error { return e.Err }

// errEmpty is the error for an empty file, which is usually a file that is still being
// written.
var errEmpty = errors.New("it is empty; if this is intended, add a comment")

package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Config sets a [Live] up. Store, Node and Apply are required.
type Config struct {
	// Path is the file that is watched; "" means none.
	Path string
	// Store keeps versions and overrides; all nodes of a cluster share it.
	Store Store
	// Node is this process's name among them.
	Node string
	// Files lists the files that a text of settings names and that go with it:
	// what they say is kept with each version, compared, and rolled back. nil:
	// none. Of a text that is invalid it lists what it can.
	Files func(text []byte) []string
	// Check says whether a text can be applied, naming the line; nil accepts
	// every text. It has no effect.
	Check func(text []byte) error
	// Hide takes out of an error of Check what it quotes of files that were read here
	// for whoever named them: they may not be allowed to. Nil: nothing.
	Hide func(err error, files []string) error
	// CheckOverride says what else is wrong with an override than
	// [Override.Validate] knows, such as a route that there is not; nil: nothing.
	CheckOverride func(Override) error
	// Apply makes a version and the overrides run, or returns an error and
	// leaves what runs as it is. It is called by one goroutine at a time, in
	// the order in which things came about.
	Apply func(ctx context.Context, v Version, overrides []Override) error

	// Poll is how often the store is asked whether anything changed; 0 means
	// 100 ms.
	Poll time.Duration
	// SlowPoll is how often the file is looked at although nothing said that
	// it changed, and how often what could not be applied is tried again; 0
	// means 10 s.
	SlowPoll time.Duration
	// Settle is how long the file must be left alone before it is read; 0
	// means 100 ms.
	Settle time.Duration
	// Beat is how often this node says what it runs; 0 means 2 s. Others
	// believe it for five beats.
	Beat time.Duration
	// Timeout bounds each call to the store; 0 means 2 s.
	Timeout time.Duration

	// Log says what happens; nil discards it.
	Log *slog.Logger
	// Observe hears what happens, from any goroutine, when the status shows it;
	// nil: nobody. It must be quick, and may call nothing here but Status.
	Observe func(Event)
}

// Validate reports every field that is out of bounds.
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
		f.If(d.d < 0 || d.d > d.most, "%s: %v is not within 0 to %v", d.name, d.d, d.most)
	}
	return f.join()
}

// String shows what can be shown.
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

// InvalidError says why a text cannot run. Nothing has changed.
type InvalidError struct {
	What string // "the file /etc/bezoar.yaml", "version 7"
	Err  error  // as Check gave it
}

func (e *InvalidError) Error() string { return e.What + " is invalid: " + e.Err.Error() }

func (e *InvalidError) Unwrap() error { return e.Err }

// ApplyError says why a valid version does not run here. What ran before, runs.
type ApplyError struct {
	Version int64
	Err     error // as Apply gave it
}

func (e *ApplyError) Error() string {
	return fmt.Sprintf("version %d cannot be applied: %v", e.Version, e.Err)
}

func (e *ApplyError) Unwrap() error { return e.Err }

// errEmpty is why an empty file is never settings: it is more often one that is
// being written.
var errEmpty = errors.New("it is empty; if that is meant, write a comment into it")

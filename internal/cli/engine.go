package cli

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/queue"
)

// Engine starts what the commands need. cmd/bezoar wires it.
type Engine struct {
	// Serve runs cfg until ctx ends, then stops in order.
	Serve func(ctx context.Context, cfg config.Config, s Serving) error
	// Demo runs the demonstration.
	Demo func(ctx context.Context, d Demo) error
	// Queues opens the store that cfg names, and runs its queues until do returns.
	Queues func(ctx context.Context, cfg config.Config, log *slog.Logger, do func(ctx context.Context, e *queue.Engine) error) error
	// Backup copies the store that cfg names, which may be in use, and returns the size of the copy. The error is
	// errors.ErrUnsupported for a store that is no file.
	Backup func(ctx context.Context, cfg config.Config, b Backup) (int64, error)
	// Restore puts a backup in the place of the store that cfg names, which must not be in use. The error is
	// errors.ErrUnsupported for a store that is no file.
	Restore func(ctx context.Context, cfg config.Config, r Restore) (Restored, error)
	// FlowWork runs attempts of flows until ctx ends.
	FlowWork func(ctx context.Context, w FlowWorker) error
	// SampleWorker serves as one of the demonstration's workers.
	SampleWorker func(ctx context.Context) error
}

// Serving holds what Serve needs in addition to the settings.
type Serving struct {
	Log      *slog.Logger
	Output   func(worker, stream, line string) // gets output of the workers
	Ready    func(listen, sqs, admin string)   // called when the listeners are open
	Leave    <-chan struct{}                   // closed shortly before ctx ends: callers should go elsewhere
	Restart  <-chan struct{}                   // each value reads the file again, or restarts all fleets if no file is followed
	TakeOver bool                              // take the sockets of the Bezoar that runs there
	File     string                            // the settings file to follow; "": none
	Edit     func(*config.Config)              // changes that flags make to the file's settings
}

// Demo configures the demonstration.
type Demo struct {
	Command []string // starts one sample worker
	Pill    string
	Length  time.Duration // of each half
	Workers int
	Rate    int
	JSON    bool
	Stdout  io.Writer
	Stderr  io.Writer
}

// Backup describes a copy of a store.
type Backup struct {
	To      string
	Replace bool
	Told    func(done, total int64, checking bool)
}

// Restore describes a backup that replaces a store.
type Restore struct {
	From    string
	Replace bool
	Told    func(done, total int64, checking bool)
}

// Restored counts what was restored; its names are those of --json.
type Restored struct {
	Bytes    int64  `json:"bytes"`
	Schema   int64  `json:"schema"`
	Kept     string `json:"kept,omitempty"` // the store that was there
	Verdicts int64  `json:"verdicts"`
	Queues   int64  `json:"queues"`
	Messages int64  `json:"messages"`
	Letters  int64  `json:"letters"`          // of requests
	Runs     int64  `json:"flow_runs"`        // of flows
	Secret   string `json:"secret,omitempty"` // the file that is missing
}

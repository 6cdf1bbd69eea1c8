package cli

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/queue"
)

// Engine is what the commands that serve start. cmd/bezoar wires it.
type Engine struct {
	// Serve runs cfg until ctx ends, then stops in order.
	Serve func(ctx context.Context, cfg config.Config, s Serving) error
	// Demo runs the demonstration.
	Demo func(ctx context.Context, d Demo) error
	// Queues opens the store that cfg names and runs its queues while do does.
	Queues func(ctx context.Context, cfg config.Config, log *slog.Logger, do func(ctx context.Context, e *queue.Engine) error) error
	// Backup copies the store that cfg names, which may be in use, and returns the copy's
	// size. Its error is errors.ErrUnsupported for a store that is no file.
	Backup func(ctx context.Context, cfg config.Config, b Backup) (int64, error)
	// Restore puts a backup in the place of the store that cfg names, which nobody may use.
	// Its error is errors.ErrUnsupported for a store that is no file.
	Restore func(ctx context.Context, cfg config.Config, r Restore) (Restored, error)
	// FlowWork runs attempts of flows until ctx ends.
	FlowWork func(ctx context.Context, w FlowWorker) error
	// SampleWorker serves as one of the demonstration's workers.
	SampleWorker func(ctx context.Context) error
}

// Serving is what Serve needs beside the settings.
type Serving struct {
	Log      *slog.Logger
	Output   func(worker, stream, line string) // of the workers
	Ready    func(listen, sqs, admin string)   // to be called when the listeners are open
	Leave    <-chan struct{}                   // closed when ctx is about to end: callers should go elsewhere
	Restart  <-chan struct{}                   // each value has the file read again or, where none is followed, all fleets restarted
	TakeOver bool                              // the sockets of the Bezoar that runs there already are taken
	File     string                            // the settings file to follow; "": none
	Edit     func(*config.Config)              // what flags change of what the file says
}

// Demo says what the demonstration shows.
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

// Backup is a copy that is to be made of a store.
type Backup struct {
	To      string
	Replace bool
	Told    func(done, total int64, checking bool)
}

// Restore is a backup that is to be put in the place of a store.
type Restore struct {
	From    string
	Replace bool
	Told    func(done, total int64, checking bool)
}

// Restored says what came back; its names are those of --json.
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

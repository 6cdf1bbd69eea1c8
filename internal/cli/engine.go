package cli

import (
	"context"
	"log/slog"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/demo"
	"github.com/bezoar-dev/bezoar/queue"
)

// Engine starts what the commands need. cmd/bezoar wires it.
type Engine struct {
	// Serve runs cfg until ctx ends, then stops in order.
	Serve func(ctx context.Context, cfg config.Config, s Serving) error
	// Demo runs the demonstration.
	Demo func(ctx context.Context, c demo.Config) error
	// Queues opens the store that cfg names, and runs its queues until do returns.
	Queues func(ctx context.Context, cfg config.Config, log *slog.Logger, do func(ctx context.Context, e *queue.Engine) error) error
	// FlowWork runs attempts of flows until ctx ends.
	FlowWork func(ctx context.Context, w app.FlowWorker) error
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

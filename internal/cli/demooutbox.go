package cli

import (
	"fmt"
	"os"

	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdemo"
)

type demoOutboxCmd struct {
	Orders   int    `default:"10000" placeholder:"N" help:"Orders that are placed in each way (default ${default})."`
	Crashes  int    `default:"20" placeholder:"N" help:"How often the application is killed in each way (default ${default})."`
	Database string `placeholder:"URL" help:"PostgreSQL, postgres://…, for an empty schema bezoar_demo_outbox and a table demo_orders, which are removed at the end (default: SQLite in a temporary folder)."`
	Seed     uint64 `default:"1" placeholder:"N" help:"Seed that chooses the orders at which it is killed (default ${default})."`
}

// Help is shown below the flags.
func (demoOutboxCmd) Help() string {
	return "An application places orders and sends an event for each. It does so in three ways, and its process is killed by SIGKILL at the same points in each: " +
		"write the row and then send, send and then write, and write the event beside the row for a relay, which is killed as well. The table shows which events were lost, and which were sent without an order."
}

// Run shows the demonstration.
func (c *demoOutboxCmd) Run(s *session) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program, which is also the application: %w", err)
	}
	ctx, _, stop := s.heed(0)
	defer stop()
	cfg := outboxdemo.Config{
		Command: []string{self, "sample-outbox"}, Database: c.Database, Orders: c.Orders, Crashes: c.Crashes, Seed: c.Seed,
		JSON: s.json, Out: s.Stdout, Err: s.Stderr,
	}
	if c.Orders == 0 || c.Crashes == 0 {
		return exitf(exitUsage, "--orders and --crashes must not be 0")
	}
	if err := cfg.Validate(); err != nil {
		return &exitError{code: exitUsage, err: err}
	}
	_, err = outboxdemo.Run(ctx, cfg)
	return err
}

type sampleOutboxCmd struct{}

// Run does one part of the demonstration in a child process.
func (sampleOutboxCmd) Run(s *session) error { return outboxdemo.Child(s, s.Getenv, s.Stdin) }

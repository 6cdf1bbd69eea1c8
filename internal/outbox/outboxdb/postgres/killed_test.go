package postgres_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/postgres"
	"github.com/bezoar-dev/bezoar/outbox/outboxtest"
)

const (
	childURL    = "BEZOAR_TEST_OUTBOX_URL"
	childSchema = "BEZOAR_TEST_OUTBOX_SCHEMA"
)

func TestMain(m *testing.M) {
	child, is, err := outboxtest.ChildOf()
	if !is && err == nil {
		os.Exit(m.Run())
	}
	if err == nil {
		err = relay(child)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func relay(c outboxtest.Child) error {
	s, err := postgres.Open(context.Background(), postgres.Config{URL: os.Getenv(childURL), Schema: os.Getenv(childSchema)})
	if err != nil {
		return err
	}
	return c.Relay(s)
}

func (d *database) command() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{childURL + "=" + d.url, childSchema + "=" + d.schema}
	return cmd
}

// TestKilled is about relays that end in the middle of everything.
func TestKilled(t *testing.T) {
	t.Parallel()
	d := newOutbox(t, connect(t, server(t)))
	rounds := 20
	if os.Getenv("BEZOAR_SOAK") != "" {
		rounds = 200
	}
	t.Run("at random", func(t *testing.T) { outboxtest.Kill(t, d.Outbox, rounds, d.command) })
	d.empty(t)
	t.Run("by an event", func(t *testing.T) { outboxtest.Killer(t, d.Outbox, d.command) })
	d.empty(t)
	t.Run("stopped for a while", func(t *testing.T) { outboxtest.Stopped(t, d.Outbox, d.command) })
}

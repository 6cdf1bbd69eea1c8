package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/config"
	"github.com/bezoar-dev/bezoar/internal/flownode"
	"github.com/bezoar-dev/bezoar/internal/guardian"
	"github.com/bezoar-dev/bezoar/internal/proc"
	"github.com/bezoar-dev/bezoar/internal/store"
	"github.com/bezoar-dev/bezoar/internal/store/look"
)

// FlowWorker is a node that only runs the attempts of flows that others plan.
type FlowWorker struct {
	Store   string // postgres://…, the one of the processes that plan
	Dir     string // its own, for logs
	Labels  []string
	Slots   int // attempts at once
	User    string
	Inherit proc.Inherit
	Watch   func(log *slog.Logger, mark string) (*guardian.Watch, error) // see flownode.Config
	Log     *slog.Logger
}

// Run works until ctx ends.
func (w FlowWorker) Run(ctx context.Context) (err error) {
	if scheme, _, _ := strings.Cut(w.Store, ":"); scheme != "postgres" && scheme != "postgresql" {
		return fmt.Errorf("work on flows: the store is %s, which one process has for itself; name the PostgreSQL of the processes that plan", scheme)
	}
	if err := os.MkdirAll(w.Dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of this node: %w", err)
	}
	name, err := nodeName(&config.Config{StateDir: w.Dir})
	if err != nil {
		return err
	}
	stores, err := store.Open(ctx, w.Store, store.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	n, err := flownode.Open(ctx, flownode.Config{
		Store: stores.Flow, Dir: filepath.Join(w.Dir, "flow"), Name: name, Labels: w.Labels, Slots: w.Slots, Works: true,
		User: w.User, Inherit: w.Inherit, Watch: w.Watch, Query: look.Query, Log: w.Log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	w.Log.Info("works on flows", "node", name, "labels", w.Labels, "slots", w.Slots)
	return n.Run(ctx)
}

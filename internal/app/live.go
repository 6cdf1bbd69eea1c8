package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/store"
)

// openLive makes the engine that follows the settings. Without a file the settings do not change.
func (a *App) openLive(ctx context.Context) error {
	s := a.opt.Settings
	if s.Path == "" {
		return nil
	}
	cfg := live.Config{
		Path: s.Path, Store: measuredLive{a.stores.Live, a.storeHealth()}, Node: a.node, Poll: a.cfg.Live.Poll, Log: a.log,
		Files: a.named, Check: a.check, Admit: a.admit, Hide: hidden, CheckOverride: a.checkOverride, Apply: a.applySettings,
	}
	if !a.cfg.Live.Share {
		own, err := store.Open(ctx, config.MemoryStore, store.Config{})
		if err != nil {
			return err
		}
		cfg.Store = own.Live
	}
	var err error
	a.live, err = live.New(cfg)
	return err
}

func (a *App) applySettings(ctx context.Context, v live.Version, overrides []live.Override) error {
	if v.Sum != a.applied {
		cfg, f, err := a.parse(fmt.Sprintf("version %d", v.Number), v.Text)
		if err != nil {
			return err
		}
		if v.Source == live.FromFile && v.By == a.node {
			if keys := a.NeedsRestart(cfg); len(keys) > 0 {
				a.log.Warn("some settings change at the next start only", "settings", strings.Join(keys, ", "))
			}
		}
		if err := a.reload(ctx, cfg, f); err != nil {
			return err
		}
		if a.applied != "" { // not at the start
			a.log.Info("the settings were changed", "fleets", len(cfg.Fleets), "routes", len(cfg.Routes), "queues", len(cfg.Queues), "outboxes", len(cfg.Outbox))
		}
		a.applied = v.Sum
	}
	a.overrides.set(overrides)
	a.overrideGuards(overrides)
	return nil
}

// hangUp handles SIGHUP: it reads the files again. Without a settings file it replaces the fleets' workers one after
// another.
func (a *App) hangUp(ctx context.Context) {
	a.refreshGuards(true)
	a.reloadFlows()
	if a.live == nil {
		a.restartAll()
		return
	}
	r, err := a.live.Reload(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		a.log.Error("the settings were not changed; the old ones stay in force", "err", err)
	case err == nil && !r.Changed:
		a.log.Info("the settings have not changed", "version", r.Version.Number)
	}
}

// nodeName returns this process's name among those of its store: from the settings, or a generated name that it keeps.
func nodeName(cfg *config.Config) (string, error) {
	if cfg.Node != "" {
		return cfg.Node, nil
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "node"
	}
	key := made()
	name := fmt.Sprintf("%.48s-%x", host, key[:4])
	if cfg.StateDir == "" {
		return name, nil
	}
	path := filepath.Join(cfg.StateDir, "node")
	switch kept, err := os.ReadFile(path); {
	case err == nil && len(kept) > 0 && len(kept) <= 64 && !strings.ContainsAny(string(kept), " \n\t"):
		return string(kept), nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("state_dir: %w", err)
	}
	if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
		return "", fmt.Errorf("state_dir: %w", err)
	}
	return name, nil
}

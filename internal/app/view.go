package app

import "github.com/bezoar-dev/bezoar/internal/control/admin"

// Backend returns a's backend for an admin API that is served elsewhere.
func (a *App) Backend() admin.Backend { return backend{a} }

// Events returns the stream of a's events.
func (a *App) Events() *admin.Hub { return &a.hub }

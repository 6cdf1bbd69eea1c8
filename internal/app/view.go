package app

import "github.com/bezoar-dev/bezoar/internal/control/admin"

// Backend returns what the admin API sees of a, for who serves it elsewhere.
func (a *App) Backend() admin.Backend { return backend{a} }

// Events returns the stream of what happens in a.
func (a *App) Events() *admin.Hub { return &a.hub }

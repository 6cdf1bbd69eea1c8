package app

import "github.com/bezoar-dev/bezoar/internal/live"

// Live returns what follows the settings.
func (a *App) Live() *live.Live { return a.live }

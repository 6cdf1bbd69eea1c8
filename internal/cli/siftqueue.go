package cli

import (
	"context"

	"github.com/bezoar-dev/bezoar/internal/sieve"
)

func (c *siftCmd) queueSink(ctx context.Context, s *session, name string) (sieve.Sink, error) {
	return nil, exitf(exitUsage, "queue %s: not yet", name)
}

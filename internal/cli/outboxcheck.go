package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/outbox/sinks"
)

// sinkFaults opens the sinks of outboxes as serve does, which connects to nothing. A variable that is not set here may be
// set where Bezoar runs.
func sinkFaults(ctx context.Context, file string, cfg *config.Config) []config.Fault {
	const stands = "it-stands-for-a-secret-of-any-kind"
	getenv := func(name string) string { return cmp.Or(os.Getenv(name), stands) }
	var out []config.Fault
	for _, name := range slices.Sorted(maps.Keys(cfg.Outbox)) {
		for i, s := range cfg.Outbox[name].Sinks {
			if strings.HasPrefix(s.To, "queue:") { // the settings themselves say which there are
				continue
			}
			sink, err := sinks.Open(ctx, s.To, sinks.Options{Getenv: getenv})
			if err == nil {
				err = sink.Close()
			}
			if err != nil {
				out = append(out, config.Fault{
					File: file, Path: fmt.Sprintf("outbox.%s.sinks[%d].to", name, i), Problem: err.Error(), Fix: "docs/sinks.md has the form of each URL",
				})
			}
		}
	}
	return out
}

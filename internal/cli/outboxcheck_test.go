package cli

import (
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/outbox/sinks"
)

// The settings take the sinks that there are, and no others.
func TestSettingsTakeTheSinksThatThereAre(t *testing.T) {
	_, err := sinks.Open(t.Context(), "nowhere:x", sinks.Options{})
	if err == nil {
		t.Fatal("there is a sink nowhere:")
	}
	if want := strings.Join(config.OutboxSchemes(), ":, ") + ":"; !strings.HasSuffix(err.Error(), "supported are "+want) {
		t.Errorf("%v; the settings take %s", err, want)
	}
}

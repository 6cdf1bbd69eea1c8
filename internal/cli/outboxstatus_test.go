package cli

import (
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/outbox"
)

// What a former relay has written down is not said of the one that took over.
func TestNotesOfAFormerRelay(t *testing.T) {
	now := time.Now()
	stats := outbox.Stats{Epoch: 6, Leader: true, Sinks: []outbox.SinkStats{{Name: "a", Paused: true}}}
	for epoch, want := range map[int64]int{6: 1, 7: 0} {
		o := adminapi.NewOutbox("shop", "postgres", outbox.Status{Now: now, Lease: outbox.Lease{Owner: "x", Epoch: epoch, Until: now.Add(time.Second)}})
		noted(&o, stats)
		if len(o.Sinks) != want || o.Relay.Here {
			t.Errorf("epoch %d: %+v", epoch, o)
		}
	}
}

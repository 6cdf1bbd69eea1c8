package memory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/control/live/livetest"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
)

// In a bubble the store's clock goes on by sleeping, which takes no time.
func TestLive(t *testing.T) {
	livetest.Run(t, livetest.Harness{
		Open: func(t *testing.T) live.Store {
			db, err := memory.Open(memory.Config{})
			if err != nil {
				t.Fatal(err)
			}
			return db.Live()
		},
		Age:    func(_ *testing.T, _ live.Store, d time.Duration) { time.Sleep(d) },
		Around: synctest.Test,
	})
}

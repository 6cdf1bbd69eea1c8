package memory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/memory"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/queue/queuetest"
)

// In a bubble the store's clock goes on by sleeping, which takes no time.
func TestQueue(t *testing.T) {
	queuetest.Run(t, queuetest.Harness{
		Open: func(t *testing.T) queue.Store {
			db, err := memory.Open(memory.Config{})
			if err != nil {
				t.Fatal(err)
			}
			return db.Queue()
		},
		Age:    func(_ testing.TB, _ queue.Store, d time.Duration) { time.Sleep(d) },
		Around: synctest.Test,
		Game:   synctest.Test,
	})
}

package memory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/flow/flowtest"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
)

func TestFlow(t *testing.T) {
	flowtest.Run(t, flowtest.Harness{
		Open: func(t *testing.T) flow.Store {
			db, err := memory.Open(memory.Config{})
			if err != nil {
				t.Fatal(err)
			}
			return db.Flow()
		},
		Age:    func(_ testing.TB, _ flow.Store, d time.Duration) { time.Sleep(d) },
		Around: synctest.Test,
	})
}

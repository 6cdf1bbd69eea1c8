package watchdog_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/process/watchdog"
)

// pool is a fleet of three workers, of which the second fills its memory.
type pool struct {
	mu       sync.Mutex
	replaced bool
}

func (p *pool) Workers() []watchdog.Worker {
	up := time.Now().Add(-time.Hour)
	return []watchdog.Worker{
		{Name: "pool-1", PID: 4711, Life: 1, Up: up, Serving: true},
		{Name: "pool-2", PID: 4712, Life: 2, Up: up, Serving: true},
		{Name: "pool-3", PID: 4713, Life: 3, Up: up, Serving: true},
	}
}

func (p *pool) Restart(_ context.Context, worker, _ string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replaced = true
	fmt.Println("replacing", worker)
	return nil
}

func (p *pool) measure(w watchdog.Worker) (watchdog.Sample, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.Name == "pool-2" && !p.replaced {
		return watchdog.Sample{Memory: 812 << 20}, nil
	}
	return watchdog.Sample{Memory: 200 << 20}, nil
}

// A fleet of whatever can replace one worker. Without Sample, the kernel is asked
// about each PID.
func ExampleNew() {
	ctx, stop := context.WithCancel(context.Background())
	p := &pool{}
	dog, err := watchdog.New(watchdog.Config{
		Name: "pool", Target: p, Sample: p.measure,
		Rules: watchdog.Rules{Limits: watchdog.Limits{Memory: 512 << 20}, For: time.Second},
		Observe: func(e watchdog.Event) {
			fmt.Println(e.Kind, e.Worker)
			if e.Kind == watchdog.Ended {
				stop()
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(dog.Run(ctx))
	// Output:
	// restart pool-2
	// replacing pool-2
	// restarted pool-2
	// <nil>
}

package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// listenEvery is how often the dispatcher asks which workers have fallen silent.
const listenEvery = 100 * time.Millisecond

// listen has workers looked at that have fallen silent: what is sent to one that hangs is
// lost with it. While nothing is in flight it sleeps. It ends with ctx.
func (d *Dispatcher) listen(ctx context.Context) {
	var looks sync.WaitGroup
	defer looks.Wait()
	tick := time.NewTicker(listenEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for _, s := range d.cfg.Fleet.Listen(now) {
				switch {
				case s.Frozen:
					d.cfg.Fleet.Substitute(s.Worker)
				case s.Look:
					looks.Go(func() {
						health := d.cfg.Fleet.Settle(ctx, s.Worker, fleet.Overdue)
						d.cfg.Fleet.Looked(s.Worker, health)
						if health == fleet.Alive {
							d.cfg.Ledger.Alive(s.Worker.Epoch())
						}
					})
				default:
					d.cfg.Ledger.Silent(s.Worker.Epoch(), s.Mute)
				}
			}
			if !d.cfg.Fleet.Quiet() {
				continue
			}
			tick.Stop()
			select {
			case <-ctx.Done():
				return
			case <-d.cfg.Fleet.Stirred():
				tick.Reset(listenEvery)
			}
		}
	}
}

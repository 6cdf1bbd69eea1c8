package queue

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/outage"
)

// Config configures an Engine. The zero Config is useful.
type Config struct {
	// SweepEvery bounds the time between the end of the last lease of a message and the
	// moment when it is set aside; 0 means 1 s.
	SweepEvery time.Duration
	// ExpireEvery is how often expired messages and leftovers are removed; 0 means 10 s. Expired messages are never
	// received, even before they are removed.
	ExpireEvery time.Duration
	// PollEvery is how often a waiting receive asks a store that other processes use too;
	// 0 means 250 ms.
	PollEvery time.Duration
	// Key is the secret of the deployment, by which payloads are recognised. The zero Key
	// means a random one: payloads are then not recognised across processes and restarts.
	Key fingerprint.Key
	// VanishGrace is how long after [Engine.Vanished] another connection may still settle
	// messages; at least 1 s, and 0 means 1 s.
	VanishGrace time.Duration
	// Outage configures when a queue is paused because different messages fail in the same way.
	Outage outage.Config
	// Breaker says when the queues of a downstream group stop delivering. Its Node names
	// this process among those that share the store; "" means a random name.
	Breaker breaker.Config
	// Log gets errors of upkeep; nil discards them.
	Log *slog.Logger
}

// Validate reports every field that is out of bounds.
func (c Config) Validate() error {
	var errs faults.List
	for name, d := range map[string]time.Duration{"SweepEvery": c.SweepEvery, "ExpireEvery": c.ExpireEvery, "PollEvery": c.PollEvery} {
		errs.If(d < 0 || d > time.Minute, "%s is %v, want 0 to 1m", name, d)
	}
	if g := c.VanishGrace; g != 0 && (g < massWindow || g > time.Minute) {
		errs = append(errs, fmt.Errorf("VanishGrace is %v, want 0, or %v to 1m", g, massWindow))
	}
	errs.In(c.Outage.Validate(), "Outage")
	errs.In(c.Breaker.Validate(), "Breaker")
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	c.SweepEvery = cmp.Or(c.SweepEvery, time.Second)
	c.ExpireEvery = cmp.Or(c.ExpireEvery, 10*time.Second)
	c.PollEvery = cmp.Or(c.PollEvery, 250*time.Millisecond)
	if c.Key == (fingerprint.Key{}) {
		rand.Read(c.Key[:])
	}
	c.VanishGrace = cmp.Or(c.VanishGrace, time.Second)
	if c.Breaker.Node == "" {
		c.Breaker.Node = NewID()
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

package tracing

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/redact"
)

// Defaults of [Config].
const (
	DefaultQueue = 2048
	DefaultBatch = 512
	DefaultEvery = time.Second
)

// Config says where spans go. Endpoint is required.
type Config struct {
	Endpoint string  // http://host:port; the path is /v1/traces unless it has one
	Sample   float64 // share of the requests whose callers have not decided, from 0 to 1

	Version string // of the program
	Node    string // this process among others

	Queue   int           // spans that wait; default 2,048
	Batch   int           // spans sent at once; default 512
	Every   time.Duration // how long a span waits for others; default 1 s
	Timeout time.Duration // of one call of the collector; default 10 s
	Log     *slog.Logger  // default: silent
}

// String leaves out what is secret in the endpoint.
func (c Config) String() string {
	return fmt.Sprintf("tracing to %s, sample %g", redact.Text(c.Endpoint, redact.Hidden), c.Sample)
}

func (c Config) withDefaults() Config {
	if c.Queue == 0 {
		c.Queue = DefaultQueue
	}
	if c.Batch == 0 {
		c.Batch = DefaultBatch
	}
	if c.Every == 0 {
		c.Every = DefaultEvery
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	var errs []error
	if u, err := url.Parse(c.Endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		errs = append(errs, errors.New("Endpoint is not a URL of a collector, such as http://127.0.0.1:4318"))
	}
	if !(c.Sample >= 0 && c.Sample <= 1) {
		errs = append(errs, fmt.Errorf("Sample is %g, want 0 to 1", c.Sample))
	}
	for name, n := range map[string]int{"Queue": c.Queue, "Batch": c.Batch} {
		if n < 0 || n > 1<<20 {
			errs = append(errs, fmt.Errorf("%s is %d, want 1 to %d", name, n, 1<<20))
		}
	}
	if c.Every < 0 || c.Timeout < 0 {
		errs = append(errs, fmt.Errorf("Every is %v and Timeout %v, want more than 0s", c.Every, c.Timeout))
	}
	return errors.Join(errs...)
}

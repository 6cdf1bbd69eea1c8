package tracing

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Defaults of a [Config].
const (
	DefaultQueue = 2048
	DefaultBatch = 512
	DefaultEvery = time.Second
)

// Config configures tracing. Endpoint is required.
type Config struct {
	Endpoint string  // http://host:port; the default path is /v1/traces
	Sample   float64 // share of the requests that are traced if their callers have not decided, 0 to 1

	Version string // of the program
	Node    string // name of this process

	Queue   int           // spans that wait; default 2,048
	Batch   int           // spans sent at once; default 512
	Every   time.Duration // maximum wait of a span for others; default 1 s
	Timeout time.Duration // time limit of one call of the collector; default 10 s
	Log     *slog.Logger  // nil discards
}

// String returns the configuration without secrets of the endpoint.
func (c Config) String() string {
	return fmt.Sprintf("tracing to %s, sample %g", redact.Text(c.Endpoint, redact.Hidden), c.Sample)
}

func (c Config) withDefaults() Config {
	c.Queue = cmp.Or(c.Queue, DefaultQueue)
	c.Batch = cmp.Or(c.Batch, DefaultBatch)
	c.Every = cmp.Or(c.Every, DefaultEvery)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// Validate returns one error that names every invalid field, or nil.
func (c Config) Validate() error {
	var errs faults.List
	if u, err := url.Parse(c.Endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		errs = append(errs, errors.New("Endpoint is not a URL of a collector, such as http://127.0.0.1:4318"))
	}
	errs.If(!(c.Sample >= 0 && c.Sample <= 1), "Sample is %g, want 0 to 1", c.Sample)
	for name, n := range map[string]int{"Queue": c.Queue, "Batch": c.Batch} {
		errs.If(n < 0 || n > 1<<20, "%s is %d, want 1 to %d", name, n, 1<<20)
	}
	errs.If(c.Every < 0 || c.Timeout < 0, "Every is %v and Timeout %v, want more than 0s", c.Every, c.Timeout)
	return errors.Join(errs...)
}

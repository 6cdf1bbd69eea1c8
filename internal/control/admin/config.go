package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// MinToken is how many bytes a token must have at least: enough that guessing
// it over the network is hopeless.
const MinToken = 16

// Config says where the API listens, who may enter and what stands beside it.
type Config struct {
	// Address is what the caller listens on, host:port. Its host is one of the
	// names under which requests are accepted.
	Address string
	Token   string // a bearer token that every request must carry; "" means none
	// Page serves "/" and below to everybody: files without secrets. Nil means
	// that there is no page.
	Page http.Handler
	// Extra serves [PathExtra] under the same guard as the API. Nil means none.
	Extra http.Handler
	// Description is the description of the API that [adminapi.PathDescription]
	// answers. Nil means that there is none.
	Description []byte
	// Flows serves [adminapi.PathFlows] under the same guard as the API. Nil
	// means that there are none.
	Flows http.Handler
	// Outboxes says how the outboxes are that this process delivers. Nil means that
	// there are none.
	Outboxes func(ctx context.Context) []adminapi.Outbox
	// Queues answers the calls about queues. Nil means that there are none.
	Queues Queues
	// Triage answers the calls about dead letters. Nil means that there are
	// none.
	Triage Triage
	// Alarms says where the alarms about dead letters stand. Nil means that
	// there are none.
	Alarms func() []adminapi.Alarm
	// Steering answers the calls about settings, overrides and circuit breakers.
	// Nil means that there are none.
	Steering Steering
	// Limiting answers the calls about limits of queries. Nil means that there
	// are none.
	Limiting Limiting
	// Health returns a report of how this process is, with details, to be
	// answered as JSON. Nil means that there is none.
	Health func() any
	// Guards says what the guards of routes have counted, with so many callers
	// and shapes of each. Nil means that there are none.
	Guards func(limit int) []adminapi.Guard
	// Top says who causes most. Nil means that nobody is counted.
	Top func(adminapi.TopQuery) adminapi.Top
	// Audit is told who did what with fleets, the quarantine and queues, and how
	// that ended. Nil means that nobody is told.
	Audit func(ctx context.Context, who Who, action, object string, detail any, err error)
	// Metrics are shown at /metrics beside those of this package.
	Metrics []prometheus.Collector
	// Livez, Readyz and Healthz say how this process is, to everybody, without
	// details. Nil means that Livez only says that it answers, that Readyz asks
	// the Backend alone, and that there is no Healthz.
	Livez, Readyz, Healthz http.Handler
	Log                    *slog.Logger // nil discards
}

// PathExtra is below which [Config.Extra] is mounted.
const PathExtra = "/api/v1/demo/"

// String leaves the token out.
func (c Config) String() string {
	with := "without a token"
	if c.Token != "" {
		with = "with a token"
	}
	return fmt.Sprintf("admin API on %s, %s", c.Address, with)
}

// Validate joins every fault. What it refuses would be open to the network.
func (c Config) Validate() error {
	var errs faults.List
	host, _, err := net.SplitHostPort(c.Address)
	if err != nil {
		errs = append(errs, fmt.Errorf("admin.address %.100q: want host:port: %w", c.Address, err))
	} else if c.Token == "" && !loopback(host) {
		errs = append(errs, fmt.Errorf(
			"admin.address %.100q is open to the network: set a token, or listen on 127.0.0.1", c.Address))
	}
	errs.If(c.Token != "" && len(c.Token) < MinToken, "admin.token has %d bytes, want at least %d", len(c.Token), MinToken)
	errs.If(strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' }), "admin.token may hold only printable ASCII characters without spaces")
	return errors.Join(errs...)
}

// loopback reports whether host names this machine's loopback interface alone.
// An empty host means every interface.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

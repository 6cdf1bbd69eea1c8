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
	"github.com/bezoar-dev/bezoar/internal/triage"
)

// MinToken is the minimum length of a token in bytes. It makes guessing over the network
// hopeless.
const MinToken = 16

// Config configures the API.
type Config struct {
	// Address is the listener's address, host:port. Its host is one of the names under
	// which requests are accepted.
	Address string
	Token   string // bearer token that every request must carry; empty: none
	// Page serves "/" and the paths below it to everybody. It must not contain secrets.
	// Nil: no page.
	Page http.Handler
	// Extra serves [PathExtra] with the same access control as the API. Nil: none.
	Extra http.Handler
	// Description is the API description that [adminapi.PathDescription] returns. Nil:
	// none.
	Description []byte
	// Flows serves [adminapi.PathFlows] with the same access control as the API. Nil: none.
	Flows http.Handler
	// Outboxes returns the state of the outboxes of this process. Nil: none.
	Outboxes func(ctx context.Context) []adminapi.Outbox
	// Queues handles the calls about queues. Nil: none.
	Queues Queues
	// Triage handles the calls about dead letters. Nil: none.
	Triage *triage.Service
	// Alarms returns the state of the alarms about dead letters. Nil: none.
	Alarms func() []adminapi.Alarm
	// Steering handles the calls about settings, overrides, limits of queries and circuit
	// breakers. Nil: none.
	Steering Steering
	// Fixed means that the settings cannot change: only circuit breakers can be steered.
	Fixed bool
	// Health returns a detailed health report of this process, which is encoded as JSON.
	// Nil: none.
	Health func() any
	// Guards returns the statistics of the routes' guards, with up to limit callers and
	// shapes each. Nil: none.
	Guards func(limit int) []adminapi.Guard
	// Top returns the callers with the highest usage. Nil: callers are not counted.
	Top func(adminapi.TopQuery) adminapi.Top
	// Audit records who did what with fleets, the quarantine and queues, and the result.
	// Nil: no audit log.
	Audit func(ctx context.Context, who Who, action, object string, detail any, err error)
	// Metrics are served at /metrics in addition to those of this package.
	Metrics []prometheus.Collector
	// Livez, Readyz and Healthz return the health of this process to everybody, without
	// details. If they are nil, Livez only shows that the process answers, Readyz asks the
	// Backend alone, and Healthz does not exist.
	Livez, Readyz, Healthz http.Handler
	Log                    *slog.Logger // nil discards
}

// PathExtra is the path prefix of [Config.Extra].
const PathExtra = "/api/v1/demo/"

// String returns the configuration without the token.
func (c Config) String() string {
	with := "without a token"
	if c.Token != "" {
		with = "with a token"
	}
	return fmt.Sprintf("admin API on %s, %s", c.Address, with)
}

// Validate returns one error that names every invalid field, or nil. It rejects settings
// that would open the API to the network without a token.
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

// loopback reports whether host is the loopback interface of this machine. An empty host
// means all interfaces.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

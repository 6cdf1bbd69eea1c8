package sqs

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/gateway/connlimit"
	"github.com/bezoar-dev/bezoar/queue"
)

// The defaults of a zero [Config].
const (
	DefaultAddress        = "127.0.0.1:9324"
	DefaultRegion         = "us-east-1"
	DefaultAccount        = "000000000000"
	DefaultMaxConnections = 4096
)

// Verifier verifies the signature of a request. If an error has the methods Code() string and Status() int, they decide the
// answer.
type Verifier interface {
	Verify(r *http.Request, body []byte, now time.Time) error
}

// Config configures a [Server] or [Handler]. Only Engine is required.
type Config struct {
	Engine  *queue.Engine
	Address string // to listen on; "" means DefaultAddress
	Region  string // in ARNs, if a request names none; "" means DefaultRegion
	Account string // in ARNs and URLs; "" means DefaultAccount
	// Verifier checks signatures. Nil accepts every request, signed or not; Address must then be a loopback address.
	Verifier Verifier
	TLS      *tls.Config // nil: plain HTTP
	// Rights limits the access keys by their ids; keys that are not listed may do everything. They need a Verifier.
	Rights map[string]Right
	// Hosts holds further names under which requests without a Verifier are accepted, besides IP addresses, localhost,
	// names in .localhost and host.docker.internal. Others are refused: a web page can make a name of its own resolve to
	// this address.
	Hosts          []string
	MaxConnections int // 0 means DefaultMaxConnections, or an eighth of the descriptors that the process may have where that is less
	// Vanished is called when a connection that received messages ends without an announcement. worker is the name that its
	// receives gave: "IP:PORT" of the peer. It must not block. It may be nil.
	Vanished func(worker string)
	// Viewed is called instead if the program, by access key and User-Agent, has never ended a delivery although others
	// have. Nil: Vanished is called.
	Viewed func(worker string)
	// Check, for /health, returns why the store accepts no writes although it answers: its file may have been deleted. Nil:
	// no check.
	Check func(context.Context) error
	Log   *slog.Logger // nil discards
}

var accountForm = regexp.MustCompile(`^[0-9]{12}$`)

// Validate returns an error that names every invalid field.
func (c Config) Validate() error {
	var errs faults.List
	c = c.withDefaults()
	errs.If(c.Engine == nil, "Engine: is missing")
	if host, _, err := net.SplitHostPort(c.Address); err != nil {
		errs.Add("Address: %q is not HOST:PORT", c.Address)
	} else if !loopback(host) && c.Verifier == nil {
		errs.Add("Address: %s can be reached from other machines; that needs access keys (Verifier), or listen on 127.0.0.1", c.Address)
	}
	errs.If(!isRegion(c.Region), "Region: %.40q is not 1 to 32 of a-z, 0-9 and -", c.Region)
	errs.If(!accountForm.MatchString(c.Account), "Account: %.40q is not 12 digits", c.Account)
	errs.If(len(c.Rights) > 0 && c.Verifier == nil, "Rights: they need a Verifier, which checks who calls")
	for _, key := range slices.Sorted(maps.Keys(c.Rights)) {
		for _, action := range c.Rights[key].check() {
			errs.Add("Rights: %s: there is no action %.60q", key, action)
		}
	}
	errs.If(c.MaxConnections < 1, "MaxConnections: %d is less than 1", c.MaxConnections)
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	def := func(s *string, value string) {
		*s = cmp.Or(*s, value)
	}
	def(&c.Address, DefaultAddress)
	def(&c.Region, DefaultRegion)
	def(&c.Account, DefaultAccount)
	if c.MaxConnections == 0 {
		c.MaxConnections = connlimit.Share(DefaultMaxConnections, connlimit.Queues)
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

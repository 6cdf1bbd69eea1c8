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

// Verifier judges the signature of a request. An error that has the methods
// Code() string and Status() int decides what the caller is told.
type Verifier interface {
	Verify(r *http.Request, body []byte, now time.Time) error
}

// Config sets a [Server] or [Handler] up. Only Engine is required.
type Config struct {
	Engine  *queue.Engine
	Address string // where to listen; "" means DefaultAddress
	Region  string // in ARNs, where a request names none; "" means DefaultRegion
	Account string // in ARNs and URLs; "" means DefaultAccount
	// Verifier checks signatures. Nil accepts any and none, and wants
	// Address to be of the loopback interface.
	Verifier Verifier
	TLS      *tls.Config // nil: plain HTTP
	// Rights limit what access keys may do, by their ids; those that are not here may
	// do everything. They need a Verifier.
	Rights map[string]Right
	// Hosts are further names under which the server may be called without
	// a Verifier, apart from IP addresses, localhost, names in .localhost and
	// host.docker.internal. Others are refused: a web page can make a name of
	// its own point here.
	Hosts          []string
	MaxConnections int // 0 means DefaultMaxConnections, or an eighth of the descriptors that the process may have where that is less
	// Vanished is told when a connection has ended unannounced that received
	// messages, with the name that its receives gave as their worker:
	// "IP:PORT" of the other end. It must not block. Nil: nobody is.
	Vanished func(worker string)
	// Viewed is told instead where the program, by access key and User-Agent,
	// has never ended a delivery, though others have. Nil: Vanished is.
	Viewed func(worker string)
	// Check says why the store takes nothing although it answers, for /health: its
	// file may have been deleted. Nil: it always does.
	Check func(context.Context) error
	Log   *slog.Logger // nil discards
}

var accountForm = regexp.MustCompile(`^[0-9]{12}$`)

// Validate reports every field that is at fault.
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

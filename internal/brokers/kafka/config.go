package kafka

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Defaults of a Config.
const (
	DefaultMaxRecords = 10_000
	DefaultMaxBytes   = 64 << 20
	DefaultDrain      = 10 * time.Second
	DefaultSession    = 15 * time.Second
)

// Names of SASL mechanisms in a URL.
const (
	saslPlain  = "plain"
	saslSHA256 = "scram-sha-256"
	saslSHA512 = "scram-sha-512"
)

// Client describes the connection to a cluster.
type Client struct {
	Brokers  []string    // host:port of some brokers
	TLS      *tls.Config // nil: plain TCP
	SASL     string      // plain, scram-sha-256 or scram-sha-512; default plain if User is set
	User     string
	Password string
}

// Config selects the topic to consume. Brokers, Topic and Group are required.
type Config struct {
	Client
	Topic string
	Group string // consumer group, whose members share the partitions
	// DeadLetter is the topic for dead letters; default Topic with the suffix "-dlq". It is
	// created if it does not exist.
	DeadLetter string
	Latest     bool // a group without commits starts at the end instead of the beginning

	MaxRecords int // maximum number of held records; default 10,000
	MaxBytes   int // maximum size of held keys, values and headers; default 64 MiB
	// Session is the session timeout: if the brokers get no heartbeat for this long, they
	// assign this worker's partitions to other members. Brokers require 6 s or more by
	// default; default 15 s.
	Session time.Duration
	// Instance is a static member name. A member that restarts under the same name within
	// Session gets its partitions back at once. After a stop, its partitions stay assigned
	// to it for Session.
	Instance string
	Drain    time.Duration // how long running records may continue when a rebalance takes their partition away; default 10 s
	Log      *slog.Logger  // nil discards
}

// FromURL parses kafka://HOST[,HOST…]/TOPIC?group=GROUP. The parameters are group, start
// (earliest or latest), session, instance, sasl and those of [brokers.Address.TLS].
func FromURL(text string, getenv func(string) string) (Config, error) {
	return brokers.FromURL(text, "9092", getenv, func(a *brokers.Address) Config {
		return Config{
			Client: ClientFrom(a), Topic: a.Name, Group: a.Param("group"), Latest: a.Latest(), Instance: a.Param("instance"),
			Session: a.Duration("session", "15s"),
		}
	})
}

// ClientFrom returns the connection settings in a URL.
func ClientFrom(a *brokers.Address) Client {
	return Client{Brokers: a.Hosts, User: a.User, Password: a.Password, SASL: a.Param("sasl"), TLS: a.TLS(false)}
}

// legalName matches valid topic names.
var legalName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// Validate returns one error that names every invalid field, or nil.
func (c Config) Validate() error {
	errs := faults.List{c.Client.Validate()}
	c = c.withDefaults()
	errs.If(!legalName.MatchString(c.Topic), "Topic: %.100q is not a valid topic name", c.Topic)
	errs.If(c.Group == "", "the consumer group is missing: add ?group=NAME")
	switch {
	case !legalName.MatchString(c.DeadLetter):
		errs.Add("DeadLetter: %.100q is not a valid topic name", c.DeadLetter)
	case c.DeadLetter == c.Topic:
		errs.Add("DeadLetter: must differ from the topic")
	}
	errs.If(c.MaxRecords < 1 || c.MaxBytes < 1 || c.Drain < 0, "MaxRecords, MaxBytes, Drain: one of them is too small")
	errs.If(c.Session < time.Second || c.Session > time.Hour, "Session: %v is not between 1s and 1h", c.Session)
	return errors.Join(errs...)
}

// Validate returns one error that names every invalid field, or nil.
func (c Client) Validate() error {
	var errs faults.List
	errs.If(len(c.Brokers) == 0, "Brokers: missing")
	switch c.SASL {
	case saslPlain, saslSHA256, saslSHA512:
		errs.If(c.User == "", "SASL: %s needs a user and a password, in the URL or in $%s and $%s", c.SASL, brokers.UserVar, brokers.PasswordVar)
	case "":
	default:
		errs = append(errs, fmt.Errorf("SASL: %.100q is unknown; want %s, %s or %s", c.SASL, saslPlain, saslSHA256, saslSHA512))
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	c.DeadLetter = cmp.Or(c.DeadLetter, c.Topic+"-dlq")
	c.MaxRecords = cmp.Or(c.MaxRecords, DefaultMaxRecords)
	c.MaxBytes = cmp.Or(c.MaxBytes, DefaultMaxBytes)
	c.Session = cmp.Or(c.Session, DefaultSession)
	c.Drain = cmp.Or(c.Drain, DefaultDrain)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

func (c Client) Options() []kgo.Opt {
	all := []kgo.Opt{kgo.SeedBrokers(c.Brokers...), kgo.ClientID("bezoar"), kgo.DisableClientMetrics()}
	if c.TLS != nil {
		all = append(all, kgo.DialTLSConfig(c.TLS))
	}
	if m := c.mechanism(); m != nil {
		all = append(all, kgo.SASL(m))
	}
	return all
}

func (c Client) mechanism() sasl.Mechanism {
	auth := scram.Auth{User: c.User, Pass: c.Password}
	switch {
	case c.User == "":
		return nil
	case c.SASL == saslSHA256:
		return auth.AsSha256Mechanism()
	case c.SASL == saslSHA512:
		return auth.AsSha512Mechanism()
	}
	return plain.Auth{User: c.User, Pass: c.Password}.AsMechanism()
}

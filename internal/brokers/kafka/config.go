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

// What zero means in a Config.
const (
	DefaultMaxRecords = 10_000
	DefaultMaxBytes   = 64 << 20
	DefaultDrain      = 10 * time.Second
	DefaultSession    = 15 * time.Second
)

// The names of SASL mechanisms in a URL.
const (
	saslPlain  = "plain"
	saslSHA256 = "scram-sha-256"
	saslSHA512 = "scram-sha-512"
)

// Client says how to reach a cluster.
type Client struct {
	Brokers  []string    // host:port of some of them
	TLS      *tls.Config // nil: without
	SASL     string      // plain, scram-sha-256 or scram-sha-512; "" with a User: plain
	User     string
	Password string
}

// Config says which topic is worked on. Brokers, Topic and Group are required.
type Config struct {
	Client
	Topic string
	Group string // the consumer group, whose members share the partitions
	// DeadLetter is the topic that dead letters go to; default Topic with "-dlq"
	// behind it. It is created if it does not exist.
	DeadLetter string
	Latest     bool // a group without commits begins at the end, not at the beginning

	MaxRecords int // held in all; default 10,000
	MaxBytes   int // of keys, values and headers held in all; default 64 MiB
	// Session is after how long without a sign of life the brokers give our
	// partitions to others; 6 s or more by their default, default 15 s.
	Session time.Duration
	// Instance names this member for good: one of the same name that starts within
	// Session has its partitions at once, and one that stops keeps them as long.
	Instance string
	Drain    time.Duration // how long what runs may go on when a rebalance takes its partition away; default 10 s
	Log      *slog.Logger  // nil discards
}

// FromURL reads kafka://HOST[,HOST…]/TOPIC?group=GROUP. Its parameters are group,
// start (earliest or latest), session, instance, sasl and those of [brokers.Address.TLS].
func FromURL(text string, getenv func(string) string) (c Config, err error) {
	a, err := brokers.Parse(text, "9092", getenv)
	if err != nil {
		return c, err
	}
	c.Topic, c.Group = a.Name, a.Param("group")
	if c.Client, err = ClientFrom(&a); err != nil {
		return c, err
	}
	if c.Latest, err = a.Latest(); err != nil {
		return c, err
	}
	c.Instance = a.Param("instance")
	if c.Session, err = a.Duration("session", "15s"); err != nil {
		return c, err
	}
	if err := a.Rest(); err != nil {
		return c, err
	}
	return c, c.Validate()
}

// ClientFrom is what a URL says about the cluster.
func ClientFrom(a *brokers.Address) (c Client, err error) {
	c = Client{Brokers: a.Hosts, User: a.User, Password: a.Password, SASL: a.Param("sasl")}
	c.TLS, err = a.TLS(false)
	return c, err
}

// legalName is what topics may be called.
var legalName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// Validate reports every field that is at fault.
func (c Config) Validate() error {
	errs := faults.List{c.Client.Validate()}
	c = c.withDefaults()
	errs.If(!legalName.MatchString(c.Topic), "Topic: %.100q is no name of a topic", c.Topic)
	errs.If(c.Group == "", "the consumer group is missing: add ?group=NAME")
	switch {
	case !legalName.MatchString(c.DeadLetter):
		errs.Add("DeadLetter: %.100q is no name of a topic", c.DeadLetter)
	case c.DeadLetter == c.Topic:
		errs.Add("DeadLetter: it is the topic itself")
	}
	errs.If(c.MaxRecords < 1 || c.MaxBytes < 1 || c.Drain < 0, "MaxRecords, MaxBytes, Drain: one is below what makes sense")
	errs.If(c.Session < time.Second || c.Session > time.Hour, "Session: %v is not within 1s and 1h", c.Session)
	return errors.Join(errs...)
}

// Validate reports every field that is at fault.
func (c Client) Validate() error {
	var errs faults.List
	errs.If(len(c.Brokers) == 0, "Brokers: is missing")
	switch c.SASL {
	case saslPlain, saslSHA256, saslSHA512:
		errs.If(c.User == "", "SASL: %s needs a user and a password, in the URL or in $%s and $%s", c.SASL, brokers.UserVar, brokers.PasswordVar)
	case "":
	default:
		errs = append(errs, fmt.Errorf("SASL: %.100q is unknown, want %s, %s or %s", c.SASL, saslPlain, saslSHA256, saslSHA512))
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

// Options are those of a client of the cluster.
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

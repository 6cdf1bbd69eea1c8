package amqp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/url"
	"strings"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

const (
	defaultPrefetch = 16
	maxPrefetch     = 10_000
	dialFor         = 10 * time.Second
)

// Client describes the connection to a broker.
type Client struct {
	Brokers  []string    // host:port; the first one that answers is used
	TLS      *tls.Config // nil: plain TCP
	User     string
	Password string
	VHost    string // default /
}

// Config selects the queue to consume. Brokers and Queue are required.
type Config struct {
	Client
	Queue string
	// DeadLetter is the queue for dead letters; default Queue with the suffix "-dlq". If it
	// does not exist, it is declared as a durable queue.
	DeadLetter string
	Prefetch   int          // maximum number of held messages that may run; default 16
	Log        *slog.Logger // nil discards
}

// FromURL parses amqp://HOST[,HOST…]/QUEUE, or amqps://. The parameters are vhost, prefetch
// and those of [brokers.Address.TLS].
func FromURL(text string, getenv func(string) string) (Config, error) {
	return brokers.FromURL(text, portOf(text), getenv, func(a *brokers.Address) Config {
		return Config{Client: ClientFrom(a), Queue: a.Name, Prefetch: int(a.Number("prefetch", 1, math.MaxInt32, "number of messages"))}
	})
}

func portOf(url string) string {
	if strings.HasPrefix(url, "amqps:") {
		return "5671"
	}
	return "5672"
}

// ClientFrom returns the connection settings in a URL.
func ClientFrom(a *brokers.Address) Client {
	return Client{Brokers: a.Hosts, User: a.User, Password: a.Password, VHost: a.Param("vhost"), TLS: a.TLS(a.Scheme == "amqps")}
}

// Validate returns one error that names every invalid field, or nil.
func (c Config) Validate() error {
	var errs faults.List
	c = c.withDefaults()
	errs.If(len(c.Brokers) == 0, "Brokers: missing")
	errs.If(c.Queue == "" || len(c.Queue) > 250, "Queue: %.100q is not a valid queue name", c.Queue)
	errs.If(c.DeadLetter == c.Queue || len(c.DeadLetter) > 255, "DeadLetter: %.100q is the queue itself, or too long", c.DeadLetter)
	errs.If(c.Prefetch < 1 || c.Prefetch > maxPrefetch, "Prefetch: %d is not between 1 and %d", c.Prefetch, maxPrefetch)
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	c.DeadLetter = cmp.Or(c.DeadLetter, c.Queue+"-dlq")
	c.Prefetch = cmp.Or(c.Prefetch, defaultPrefetch)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// Dial connects to the first broker that answers, until ctx ends. name is the connection
// name that the broker shows.
func (c Client) Dial(ctx context.Context, name string) (*amqp091.Connection, error) {
	scheme := "amqp"
	if c.TLS != nil {
		scheme = "amqps"
	}
	user, password, vhost := c.User, c.Password, c.VHost
	if user == "" && password == "" {
		user, password = "guest", "guest" // the broker's default, which it accepts from its own machine only
	}
	vhost = cmp.Or(vhost, "/")
	connected := func() bool { return true } // stops the cancellation by ctx
	dial := func(network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{Timeout: dialFor}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		connected = context.AfterFunc(ctx, func() { _ = conn.Close() })
		return conn, conn.SetDeadline(time.Now().Add(dialFor)) // until the end of the handshake
	}
	var failed error
	for _, host := range c.Brokers {
		u := url.URL{Scheme: scheme, Host: host, Path: "/"}
		conn, err := amqp091.DialConfig(u.String(), amqp091.Config{
			SASL: []amqp091.Authentication{&amqp091.PlainAuth{Username: user, Password: password}}, Vhost: vhost,
			TLSClientConfig: c.TLS, Heartbeat: 10 * time.Second, Dial: dial,
			Properties: amqp091.Table{"product": "bezoar", "connection_name": name},
		})
		connected()
		if ctx.Err() != nil {
			if err == nil {
				_ = conn.CloseDeadline(time.Now()) // ctx has ended
			}
			return nil, fmt.Errorf("connect to %s: %w", host, ctx.Err())
		}
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, fmt.Errorf("connect to %s: %w", host, err))
	}
	return nil, failed
}

// explain adds advice to known errors.
func (c Client) explain(err error) error {
	if told := brokers.TLSError(err); told != nil || err == nil {
		return told
	}
	answer, answered := errors.AsType[*amqp091.Error](err)
	switch {
	case errors.Is(err, amqp091.ErrCredentials), errors.Is(err, amqp091.ErrSASL), errors.Is(err, amqp091.ErrVhost),
		answered && (answer.Code == amqp091.AccessRefused || answer.Code == amqp091.NotAllowed):
		return &brokers.Error{Kind: brokers.Denied, Err: err, Fix: "$" + brokers.UserVar + " and $" + brokers.PasswordVar + " set the user and the password, ?vhost= sets the virtual host"}
	case answered && answer.Code == amqp091.NotFound:
		return &brokers.Error{Kind: brokers.Missing, Err: err, Fix: "declare the queue; check the queue name in --queue and the virtual host in ?vhost="}
	default:
		return &brokers.Error{Kind: brokers.Unreachable, Err: err, Fix: "check that a broker runs at " + strings.Join(c.Brokers, " or ") + "?" + brokers.TLSHint(c.TLS)}
	}
}

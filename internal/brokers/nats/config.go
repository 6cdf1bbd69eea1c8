package nats

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

const (
	port           = "4222"
	dialFor        = 10 * time.Second
	reconnectWait  = 500 * time.Millisecond
	defaultAckWait = 30 * time.Second
	clientName     = "bezoar"
)

// Client describes the connection to a server.
type Client struct {
	Servers     []string    // host:port of some servers of a cluster
	TLS         *tls.Config // nil: as the server requires
	User        string      // without Password: a token
	Password    string
	Credentials string // file with a user's JWT and key
}

// Config selects the stream to consume. Servers, Stream and Consumer are required.
type Config struct {
	Client
	Stream   string
	Consumer string // durable consumer; created if it does not exist
	// DeadLetter is the stream for dead letters; default Stream with the suffix "-dlq". If
	// it does not exist, it is created with a subject of the same name.
	DeadLetter string
	Latest     bool // a new consumer starts at the end instead of the beginning
	// AckWait is set on a new consumer: if the server hears nothing about a message for
	// this long, it redelivers the message; default 30s.
	AckWait time.Duration
	Log     *slog.Logger // nil discards
}

// FromURL parses nats://HOST[,HOST…]/STREAM?consumer=CONSUMER. The parameters are consumer,
// start (earliest or latest), ack_wait, creds and those of [brokers.Address.TLS].
func FromURL(text string, getenv func(string) string) (Config, error) {
	return brokers.FromURL(text, port, getenv, func(a *brokers.Address) Config {
		return Config{
			Client: ClientFrom(a), Stream: a.Name, Consumer: a.Param("consumer"), Latest: a.Latest(), AckWait: a.Duration("ack_wait", "30s"),
		}
	})
}

// ClientFrom returns the connection settings in a URL.
func ClientFrom(a *brokers.Address) Client {
	return Client{Servers: a.Hosts, User: a.User, Password: a.Password, Credentials: a.Param("creds"), TLS: a.TLS(false)}
}

// legalName matches valid names of streams and consumers.
var legalName = regexp.MustCompile(`^[^\s.*>/\\\x00-\x1f\x7f]{1,200}$`)

// Validate returns one error that names every invalid field, or nil.
func (c Config) Validate() error {
	var errs faults.List
	c = c.withDefaults()
	errs.If(len(c.Servers) == 0, "Servers: missing")
	errs.If(!legalName.MatchString(c.Stream), "Stream: %.100q is not a valid stream name", c.Stream)
	switch {
	case c.Consumer == "":
		errs.Add("the consumer is missing: add ?consumer=NAME")
	case !legalName.MatchString(c.Consumer):
		errs.Add("Consumer: %.100q is not a valid consumer name", c.Consumer)
	}
	errs.If(c.DeadLetter == c.Stream || !legalName.MatchString(c.DeadLetter), "DeadLetter: %.100q is the stream itself, or not a valid stream name", c.DeadLetter)
	errs.If(c.AckWait < time.Second || c.AckWait > time.Hour, "AckWait: %v is not between 1s and 1h", c.AckWait)
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	c.DeadLetter = cmp.Or(c.DeadLetter, c.Stream+"-dlq")
	c.AckWait = cmp.Or(c.AckWait, defaultAckWait)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// dial connects, or returns when ctx ends. The connection reconnects without a limit.
func (c Client) dial(ctx context.Context) (*nats.Conn, error) {
	timeout := dialFor
	if at, ok := ctx.Deadline(); ok {
		timeout = min(timeout, max(time.Until(at), 0)+time.Second) // ctx ends earlier
	}
	options := []nats.Option{
		nats.Name(clientName), nats.Timeout(timeout), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.ReconnectBufSize(-1),
		nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2),
	}
	switch {
	case c.User != "" && c.Password != "":
		options = append(options, nats.UserInfo(c.User, c.Password))
	case c.User != "":
		options = append(options, nats.Token(c.User))
	}
	if c.Credentials != "" {
		options = append(options, nats.UserCredentials(c.Credentials))
	}
	if c.TLS != nil {
		options = append(options, nats.Secure(c.TLS))
	}
	type dialed struct {
		conn *nats.Conn
		err  error
	}
	done := make(chan dialed, 1)
	go func() {
		conn, err := nats.Connect(strings.Join(c.Servers, ","), options...)
		done <- dialed{conn, err}
	}()
	select {
	case d := <-done:
		if d.err != nil && ctx.Err() == nil {
			return nil, c.explain(d.err)
		}
		if ctx.Err() == nil {
			return d.conn, nil
		}
		if d.conn != nil {
			d.conn.Close()
		}
	case <-ctx.Done():
		go func() {
			if d := <-done; d.conn != nil {
				d.conn.Close()
			}
		}()
	}
	return nil, fmt.Errorf("connect to %s: %w", strings.Join(c.Servers, " or "), ctx.Err())
}

// explain adds advice to known errors.
func (c Client) explain(err error) error {
	if _, known := errors.AsType[*brokers.Error](err); known || err == nil {
		return err
	}
	if told := brokers.TLSError(err); told != nil {
		return told
	}
	is := func(all ...error) bool {
		return slices.ContainsFunc(all, func(e error) bool { return errors.Is(err, e) })
	}
	_, network := errors.AsType[*net.OpError](err)
	switch {
	case is(nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrPermissionViolation, nats.ErrAccountAuthExpired):
		return &brokers.Error{Kind: brokers.Denied, Err: err, Fix: "$" + brokers.UserVar + " and $" + brokers.PasswordVar + " set the user and the password, ?creds= sets a credentials file"}
	case is(jetstream.ErrStreamNotFound):
		return &brokers.Error{Kind: brokers.Missing, Err: err, Fix: "create the stream with nats stream add, or check its name"}
	case is(jetstream.ErrConsumerNotFound, jetstream.ErrConsumerDoesNotExist, jetstream.ErrConsumerDeleted):
		return &brokers.Error{Kind: brokers.Missing, Err: err, Fix: "the consumer was deleted; restart the worker to create it again"}
	case is(jetstream.ErrJetStreamNotEnabled, jetstream.ErrJetStreamNotEnabledForAccount, nats.ErrNoResponders):
		return &brokers.Error{Kind: brokers.Missing, Err: err, Fix: "start the server with JetStream: nats-server -js"}
	case network, is(nats.ErrTLS, nats.ErrNoServers, nats.ErrTimeout, nats.ErrConnectionClosed, nats.ErrDisconnected, nats.ErrReconnectBufExceeded):
		return &brokers.Error{Kind: brokers.Unreachable, Err: err, Fix: "check that a server with JetStream runs at " + strings.Join(c.Servers, " or ") + "." + brokers.TLSHint(c.TLS)}
	}
	return err
}

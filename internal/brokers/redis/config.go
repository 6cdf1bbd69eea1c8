package redis

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

const (
	port         = "6379"
	dialFor      = 10 * time.Second
	answerFor    = 10 * time.Second
	defaultLease = time.Minute
	// dataField is the field of an entry that holds the message body.
	dataField = "data"
	maxName   = 512
	maxDB     = 1 << 20
)

// Client describes the connection to a server.
type Client struct {
	Server   string      // host:port
	TLS      *tls.Config // nil: plain TCP
	User     string
	Password string
	DB       int
}

// Config selects the stream to consume. Server, Stream and Group are required.
type Config struct {
	Client
	Stream string
	Group  string // consumer group; it and the stream are created if they do not exist
	// DeadLetter is the stream for dead letters; default Stream with the suffix "-dlq".
	DeadLetter string
	Latest     bool          // a new group starts at the end instead of the beginning
	Lease      time.Duration // if a consumer is silent about its messages for this long, others take them over; default 1m
	Log        *slog.Logger  // nil discards
}

// FromURL parses redis://HOST/STREAM?group=GROUP, or rediss:// for TLS. The parameters are
// group, start (earliest or latest), lease, db and those of [brokers.Address.TLS].
func FromURL(text string, getenv func(string) string) (Config, error) {
	return brokers.FromURL(text, port, getenv, func(a *brokers.Address) Config {
		return Config{Client: ClientFrom(a), Stream: a.Name, Group: a.Param("group"), Latest: a.Latest(), Lease: a.Duration("lease", "1m")}
	})
}

// ClientFrom returns the connection settings in a URL.
func ClientFrom(a *brokers.Address) Client {
	if len(a.Hosts) > 1 {
		a.Fail("name one host: clusters and sentinels are not supported")
	}
	db := int(a.Number("db", 0, maxDB, "database number"))
	return Client{Server: a.Hosts[0], User: a.User, Password: a.Password, DB: db, TLS: a.TLS(a.Scheme == "rediss")}
}

// Validate returns one error that names every invalid field, or nil.
func (c Config) Validate() error {
	var errs faults.List
	c = c.withDefaults()
	errs.If(c.Server == "", "Server: missing")
	errs.If(c.Stream == "" || len(c.Stream) > maxName, "Stream: %.100q is not a valid stream name", c.Stream)
	errs.If(c.Group == "" || len(c.Group) > maxName, "the consumer group is missing, or too long: add ?group=NAME")
	errs.If(c.DeadLetter == c.Stream || len(c.DeadLetter) > maxName, "DeadLetter: %.100q is the stream itself, or too long", c.DeadLetter)
	errs.If(c.Lease < 100*time.Millisecond || c.Lease > 24*time.Hour, "Lease: %v is not between 100ms and 24h", c.Lease)
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	c.DeadLetter = cmp.Or(c.DeadLetter, c.Stream+"-dlq")
	c.Lease = cmp.Or(c.Lease, defaultLease)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// pool opens connections on demand.
type pool struct{ *redis.Pool }

func (c Client) open() pool {
	options := []redis.DialOption{
		redis.DialConnectTimeout(dialFor), redis.DialReadTimeout(answerFor), redis.DialWriteTimeout(answerFor),
		redis.DialUsername(c.User), redis.DialPassword(c.Password), redis.DialDatabase(c.DB), redis.DialClientName("bezoar"),
	}
	if c.TLS != nil {
		options = append(options, redis.DialUseTLS(true), redis.DialTLSConfig(c.TLS))
	}
	return pool{&redis.Pool{
		MaxIdle: 16, IdleTimeout: time.Minute,
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", c.Server, options...)
		},
	}}
}

func (p pool) do(ctx context.Context, command string, args ...any) (any, error) {
	conn, err := p.GetContext(ctx)
	if err != nil {
		return nil, inTime(ctx, err)
	}
	defer func() { _ = conn.Close() }() // returns it to the pool
	answer, err := redis.DoContext(conn, ctx, command, args...)
	return answer, inTime(ctx, err)
}

// inTime returns the context's error instead of the library's read timeout: both happen at
// the same time.
func inTime(ctx context.Context, err error) error {
	if at, ok := ctx.Deadline(); err != nil && ok && time.Until(at) <= time.Millisecond {
		return context.DeadlineExceeded
	}
	return err
}

func (p pool) run(ctx context.Context, script *redis.Script, stream string, args ...any) (any, error) {
	conn, err := p.GetContext(ctx)
	if err != nil {
		return nil, inTime(ctx, err)
	}
	defer func() { _ = conn.Close() }() // returns it to the pool
	answer, err := script.DoContext(ctx, conn, append([]any{stream}, args...)...)
	return answer, inTime(ctx, err)
}

// explain adds advice to known errors.
func (c Client) explain(err error) error {
	if _, known := errors.AsType[*brokers.Error](err); known || err == nil {
		return err
	}
	if told := brokers.TLSError(err); told != nil {
		return told
	}
	_, network := errors.AsType[net.Error](err)
	text := err.Error()
	has := func(codes ...string) bool {
		return slices.ContainsFunc(codes, func(code string) bool { return strings.Contains(text, code) })
	}
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case has("NOAUTH", "WRONGPASS", "NOPERM", "invalid password"):
		return &brokers.Error{Kind: brokers.Denied, Err: err, Fix: "$" + brokers.UserVar + " and $" + brokers.PasswordVar + " set the user and the password"}
	case has("WRONGTYPE"):
		return &brokers.Error{Kind: brokers.Missing, Err: err, Fix: "the key holds another type than a stream; check its name"}
	case network, errors.Is(err, io.EOF), errors.Is(err, context.DeadlineExceeded), has("LOADING", "connection pool"):
		return &brokers.Error{Kind: brokers.Unreachable, Err: err, Fix: "check that a server runs at " + c.Server + ". If it uses TLS, write rediss://." + brokers.TLSHint(c.TLS)}
	}
	return err
}

package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/brokers/amqp"
	"github.com/bezoar-dev/bezoar/internal/brokers/kafka"
	"github.com/bezoar-dev/bezoar/internal/brokers/nats"
	"github.com/bezoar-dev/bezoar/internal/brokers/redis"
	"github.com/bezoar-dev/bezoar/worker"
)

// broker returns the queue of a message broker by its URL, or nil if the URL is not of a broker.
func (c *workCmd) broker(s *session, log *slog.Logger) (worker.Source, error) {
	scheme, _, _ := strings.Cut(c.Queue, "://")
	var source worker.Source
	var err error
	switch scheme {
	case "kafka":
		source, err = c.kafka(s, log)
	case "amqp", "amqps":
		source, err = c.amqp(s, log)
	case "nats":
		source, err = c.nats(s, log)
	case "redis", "rediss":
		source, err = c.redis(s, log)
	default:
		return nil, nil //nolint:nilnil // the URL is not of a broker
	}
	if err != nil {
		return nil, hinted(&exitError{code: exitUsage, err: fmt.Errorf("--queue: %w", err)}, "docs/brokers.md has the URLs")
	}
	return source, nil
}

func (c *workCmd) kafka(s *session, log *slog.Logger) (worker.Source, error) {
	cfg, err := kafka.FromURL(c.Queue, s.Getenv)
	if err != nil {
		return nil, err
	}
	cfg.DeadLetter, cfg.Log = c.DeadLetter, log
	return kafka.New(cfg)
}

func (c *workCmd) amqp(s *session, log *slog.Logger) (worker.Source, error) {
	cfg, err := amqp.FromURL(c.Queue, s.Getenv)
	if err != nil {
		return nil, err
	}
	cfg.DeadLetter, cfg.Log = c.DeadLetter, log
	if cfg.Prefetch == 0 {
		cfg.Prefetch = c.Concurrency // prefetched messages could run elsewhere
	}
	return amqp.New(cfg)
}

func (c *workCmd) nats(s *session, log *slog.Logger) (worker.Source, error) {
	cfg, err := nats.FromURL(c.Queue, s.Getenv)
	if err != nil {
		return nil, err
	}
	cfg.DeadLetter, cfg.Log = c.DeadLetter, log
	return nats.New(cfg)
}

func (c *workCmd) redis(s *session, log *slog.Logger) (worker.Source, error) {
	cfg, err := redis.FromURL(c.Queue, s.Getenv)
	if err != nil {
		return nil, err
	}
	cfg.DeadLetter, cfg.Log = c.DeadLetter, log
	return redis.New(cfg)
}

// closing works on a source, and closes it.
func closing(source worker.Source, work func(worker.Source) error) error {
	err := work(source)
	if c, ok := source.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}

// queueName returns the queue's name from its URL, and the URL without credentials.
func (c *workCmd) queueName() (name, url string) {
	switch scheme, _, _ := strings.Cut(c.Queue, "://"); scheme {
	case "kafka", "amqp", "amqps", "nats", "redis", "rediss":
		if a, err := brokers.Parse(c.Queue, "1", nil); err == nil {
			return a.Name, a.String() + "?" + a.Param("group") + a.Param("vhost") + a.Param("consumer") + a.Param("db")
		}
	}
	return path.Base(c.Queue), c.Queue
}

// withoutSecrets returns a URL without user and password, even if the URL is invalid.
func withoutSecrets(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if at := strings.LastIndexByte(rest, '@'); ok && at >= 0 {
		return scheme + "://" + rest[at+1:]
	}
	return text
}

// brokerError adds the exit code to an error of a broker.
func brokerError(err *brokers.Error, all error) error {
	codes := map[brokers.Kind]int{brokers.Missing: exitNotFound, brokers.Denied: exitNotAllowed, brokers.Unreachable: exitUnhealthy}
	return hinted(&exitError{code: codes[err.Kind], err: all}, "%s", err.Fix)
}

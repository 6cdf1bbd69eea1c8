package sinks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/brokers/amqp"
	"github.com/bezoar-dev/bezoar/internal/brokers/kafka"
	"github.com/bezoar-dev/bezoar/internal/brokers/nats"
	"github.com/bezoar-dev/bezoar/internal/brokers/redis"
	"github.com/bezoar-dev/bezoar/internal/brokers/sqs"
	"github.com/bezoar-dev/bezoar/internal/outbox/webhook"
	"github.com/bezoar-dev/bezoar/outbox"
)

// DefaultSource is the default CloudEvents source.
const DefaultSource = "/bezoar/outbox"

// Options are common to all sinks.
type Options struct {
	// Source identifies the outbox in its events. It is a URI reference, such as
	// /outbox/shop.
	Source string
	// Getenv looks up credentials that are not in the URL; nil: os.Getenv.
	Getenv func(string) string
	// Queue receives the events of queue:NAME sinks; nil: such sinks are not available.
	Queue Queue
}

func (o Options) withDefaults() Options {
	o.Source = cmp.Or(o.Source, DefaultSource)
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return o
}

// opener opens a sink of one scheme.
type opener func(ctx context.Context, url string, o Options) (outbox.Sink, error)

// schemes lists all schemes, in the order of error messages.
func schemes() []struct {
	name string
	open opener
} {
	return []struct {
		name string
		open opener
	}{
		{"queue", openQueue},
		{"https", openWebhook},
		{"http", openWebhook},
		{"kafka", func(_ context.Context, url string, o Options) (outbox.Sink, error) {
			return sinkOf(kafka.SinkFromURL(url, o.Source, o.Getenv))
		}},
		{"sqs", func(ctx context.Context, url string, o Options) (outbox.Sink, error) {
			return sinkOf(sqs.OpenSink(ctx, strings.TrimPrefix(url, "sqs:"), o.Source, o.Getenv))
		}},
		{"amqp", openAMQP},
		{"amqps", openAMQP},
		{"nats", func(_ context.Context, url string, o Options) (outbox.Sink, error) {
			return sinkOf(nats.SinkFromURL(url, o.Source, o.Getenv))
		}},
		{"redis", openRedis},
		{"rediss", openRedis},
	}
}

// Open returns the sink for a URL. It does not connect: the first Send reports an
// unreachable destination. Errors contain no secrets.
func Open(ctx context.Context, url string, o Options) (outbox.Sink, error) {
	scheme, _, _ := strings.Cut(url, ":")
	var names []string
	for _, s := range schemes() {
		if s.name == scheme {
			sink, err := s.open(ctx, url, o.withDefaults())
			if err != nil {
				return nil, fmt.Errorf("the sink %s: %w", Name(url), err)
			}
			return sink, nil
		}
		names = append(names, s.name+":")
	}
	return nil, fmt.Errorf("there is no sink for %.100q; supported are %s", Name(url), strings.Join(names, ", "))
}

// advised adds advice to the errors of a broker.
type advised struct{ outbox.Sink }

func (s advised) Send(ctx context.Context, records []outbox.Record) []error {
	results := s.Sink.Send(ctx, records)
	for i, err := range results {
		if told, ok := errors.AsType[*brokers.Error](err); ok {
			results[i] = fmt.Errorf("%w; %s", err, told.Fix)
		}
	}
	return results
}

// sinkOf converts the result of opening a broker's sink.
func sinkOf[S outbox.Sink](s S, err error) (outbox.Sink, error) {
	if err != nil {
		return nil, err
	}
	return advised{s}, nil
}

func openAMQP(_ context.Context, url string, o Options) (outbox.Sink, error) {
	return sinkOf(amqp.SinkFromURL(url, o.Source, o.Getenv))
}

func openRedis(_ context.Context, url string, o Options) (outbox.Sink, error) {
	return sinkOf(redis.SinkFromURL(url, o.Source, o.Getenv))
}

func openWebhook(_ context.Context, url string, o Options) (outbox.Sink, error) {
	c, err := webhook.FromURL(url, o.Getenv)
	if err != nil {
		return nil, err
	}
	c.Source = o.Source
	return sinkOf(webhook.New(c))
}

// Name returns a sink's URL for display: without user, password, query and parameters. For
// a webhook it returns only the host, because the path may be a secret.
func Name(url string) string {
	scheme, rest, ok := strings.Cut(url, ":")
	if !ok {
		return "without a scheme"
	}
	if inner, isURL := strings.CutPrefix(rest, "https:"); scheme == "sqs" && isURL {
		rest = inner
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, _, _ = strings.Cut(rest, "?")
	slashes := ""
	if trimmed, ok := strings.CutPrefix(rest, "//"); ok {
		slashes, rest = "//", trimmed
		host, path, _ := strings.Cut(rest, "/")
		if at := strings.LastIndexByte(rest, '@'); at >= 0 { // also if the password contains a slash
			host, path, _ = strings.Cut(rest[at+1:], "/")
		}
		if rest = host; path != "" && scheme != "http" && scheme != "https" {
			rest += "/" + path
		}
	}
	return fmt.Sprintf("%.300s", scheme+":"+slashes+rest)
}

package cli

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/worker"
)

// source is the queue behind its URL.
func (c *workCmd) source(ctx context.Context, s *session, log *slog.Logger) (worker.Source, error) {
	if source, err := c.broker(s, log); source != nil || err != nil {
		return source, err
	}
	u, err := url.Parse(c.Queue)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") == "" {
		return nil, hinted(exitf(exitUsage, "--queue %s is no URL of a queue", withoutSecrets(c.Queue)), "https://sqs.REGION.amazonaws.com/ACCOUNT/NAME, http://127.0.0.1:9324/000000000000/NAME, kafka://BROKER/TOPIC?group=GROUP, amqp://BROKER/QUEUE or bezoar:NAME")
	}
	at := c.Endpoint
	region, isAWS := regionOf(u.Hostname())
	if at == "" && !isAWS {
		at = u.Scheme + "://" + u.Host
	}
	options := []func(*awsconfig.LoadOptions) error{awsconfig.WithDefaultRegion("us-east-1")}
	if region != "" && s.Getenv("AWS_REGION") == "" {
		options = append(options, awsconfig.WithRegion(region))
	}
	if !isAWS && isLoopback(u.Host) && !hasKeys(s) {
		options = append(options, awsconfig.WithCredentialsProvider(aws.AnonymousCredentials{}))
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	transport.IdleConnTimeout = 5 * time.Minute
	client := sqs.NewFromConfig(cfg, func(o *sqs.Options) {
		o.HTTPClient = &http.Client{Transport: transport}
		if at != "" {
			o.BaseEndpoint = &at
		}
	})
	q := worker.SQS(client, c.Queue)
	q.DeadLetter = c.DeadLetter
	return q, nil
}

// regionOf is the region in the name of one of AWS's hosts.
func regionOf(host string) (region string, isAWS bool) {
	if !strings.HasSuffix(host, ".amazonaws.com") && !strings.HasSuffix(host, ".amazonaws.com.cn") {
		return "", false
	}
	labels := strings.Split(host, ".")
	for i, label := range labels[:len(labels)-1] {
		if (label == "sqs" || label == "sqs-fips") && labels[i+1] != "amazonaws" {
			return labels[i+1], true
		}
	}
	return "", true
}

// hasKeys reports whether the environment names credentials.
func hasKeys(s *session) bool {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		if s.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// workError gives what a queue answers its exit code.
func workError(err error) error {
	if b, ok := errors.AsType[*brokers.Error](err); ok {
		return brokerError(b, err)
	}
	_, missing := errors.AsType[*types.QueueDoesNotExist](err)
	if missing || errors.Is(err, queue.ErrQueueNotFound) {
		return hinted(&exitError{code: exitNotFound, err: err}, "bezoar queue create NAME makes one")
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		switch api.ErrorCode() {
		case "AccessDenied", "AccessDeniedException", "InvalidClientTokenId", "SignatureDoesNotMatch", "MissingAuthenticationToken", "UnrecognizedClientException":
			return hinted(&exitError{code: exitNotAllowed, err: err}, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY name the keys")
		}
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return hinted(&exitError{code: exitUnhealthy, err: err}, "is the queue's endpoint running there?")
	}
	return err
}

// isLoopback reports whether an address, with a port or without, is of this
// machine only.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

package cli

import (
	"context"
	"errors"
	"log/slog"
	"net"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	brokersqs "github.com/bezoar-dev/bezoar/internal/brokers/sqs"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/worker"
)

// source returns the queue by its URL.
func (c *workCmd) source(ctx context.Context, s *session, log *slog.Logger) (worker.Source, error) {
	if source, err := c.broker(s, log); source != nil || err != nil {
		return source, err
	}
	client, err := brokersqs.NewClient(ctx, c.Queue, c.Endpoint, s.Getenv)
	if errors.Is(err, brokersqs.ErrURL) {
		return nil, hinted(exitf(exitUsage, "--queue %s is not a URL of a queue", withoutSecrets(c.Queue)), "for a queue of bezoar serve: http://127.0.0.1:9324/000000000000/NAME; others: https://sqs.REGION.amazonaws.com/ACCOUNT/NAME, kafka://BROKER/TOPIC?group=GROUP, amqp://BROKER/QUEUE, nats://SERVER/STREAM?consumer=NAME, redis://SERVER/STREAM?group=GROUP or bezoar:NAME")
	}
	if err != nil {
		return nil, err
	}
	q := worker.SQS(client, c.Queue)
	q.DeadLetter = c.DeadLetter
	return q, nil
}

// workError adds the exit code to an error of a queue.
func workError(err error) error {
	if b, ok := errors.AsType[*brokers.Error](err); ok {
		return brokerError(b, err)
	}
	_, missing := errors.AsType[*types.QueueDoesNotExist](err)
	if missing || errors.Is(err, queue.ErrQueueNotFound) {
		return hinted(&exitError{code: exitNotFound, err: err}, "bezoar queue create NAME creates it")
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		switch api.ErrorCode() {
		case "ServiceUnavailable":
			return &exitError{code: exitUnhealthy, err: err}
		case "AccessDenied", "AccessDeniedException", "InvalidClientTokenId", "SignatureDoesNotMatch", "MissingAuthenticationToken", "UnrecognizedClientException":
			return hinted(&exitError{code: exitNotAllowed, err: err}, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY set the keys")
		}
	}
	if _, ok := foreign(err); ok {
		return hinted(&exitError{code: exitUnhealthy, err: err}, "--queue is the URL of a queue, such as http://127.0.0.1:9324/000000000000/NAME")
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return hinted(&exitError{code: exitUnhealthy, err: err}, "check that the queue's endpoint runs there")
	}
	return err
}

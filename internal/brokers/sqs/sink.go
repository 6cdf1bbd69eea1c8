package sqs

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/outbox/outgoing"
	"github.com/bezoar-dev/bezoar/outbox"
)

const (
	perCall       = 10        // messages per call, a limit of SQS
	perCallBytes  = 256 << 10 // bytes per call that all services accept
	calls         = 8         // concurrent calls
	callFor       = 30 * time.Second
	tries         = 3
	maxAttributes = 10
	// encodingAttribute marks a body in base64, because SQS accepts text only.
	encodingAttribute = "event_encoding"
)

// Sink sends events of an outbox to a queue. Create it with [OpenSink].
type Sink struct {
	client *sqs.Client
	url    string
	source string
	fifo   bool
}

// OpenSink returns a sink for the queue at a URL. It does not connect. source is the
// CloudEvents source.
func OpenSink(ctx context.Context, url, source string, getenv func(string) string) (*Sink, error) {
	client, err := NewClient(ctx, url, "", getenv)
	if err != nil {
		return nil, err
	}
	return &Sink{client: client, url: url, source: source, fifo: strings.HasSuffix(url, ".fifo")}, nil
}

// Close does nothing: idle connections close by themselves.
func (s *Sink) Close() error { return nil }

// Send sends records, up to ten per call.
func (s *Sink) Send(ctx context.Context, records []outbox.Record) []error {
	return outgoing.Waves(ctx, records, perCall*calls, outgoing.CheckTexts, s.wave)
}

// wave sends records that have no order among them.
func (s *Sink) wave(ctx context.Context, wave []*outbox.Record) []error {
	results := make([]error, len(wave))
	var calling sync.WaitGroup
	from, size := 0, 0
	for i, r := range wave {
		own := sizeOf(r)
		if i > from && (i-from == perCall || size+own > perCallBytes) {
			some, into := wave[from:i], results[from:i]
			calling.Go(func() { s.call(ctx, some, into) })
			from, size = i, 0
		}
		size += own
	}
	s.call(ctx, wave[from:], results[from:])
	calling.Wait()
	return results
}

// sizeOf estimates the size that SQS counts for a record.
func sizeOf(r *outbox.Record) int {
	n := len(r.Payload)*4/3 + 1024
	for name, value := range r.Headers {
		n += len(name) + len(value)
	}
	return n
}

// call sends up to ten records.
func (s *Sink) call(ctx context.Context, some []*outbox.Record, results []error) {
	call, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	in := &sqs.SendMessageBatchInput{QueueUrl: &s.url, Entries: make([]types.SendMessageBatchRequestEntry, len(some))}
	for i, r := range some {
		in.Entries[i] = s.entry(strconv.Itoa(i), r)
		results[i] = errors.New("SQS returned no result for the message")
	}
	out, err := s.client.SendMessageBatch(call, in, func(o *sqs.Options) {
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = tries })
	})
	if err != nil {
		err = s.judge(err, len(some) == 1)
		for i := range results {
			results[i] = err
		}
		if ctx.Err() != nil {
			copy(results, outgoing.All(len(some), fmt.Errorf("send to SQS: %w", ctx.Err())))
		}
		return
	}
	for _, sent := range out.Successful {
		if i, err := strconv.Atoi(aws.ToString(sent.Id)); err == nil && i >= 0 && i < len(results) {
			results[i] = nil
		}
	}
	for _, f := range out.Failed {
		if i, err := strconv.Atoi(aws.ToString(f.Id)); err == nil && i >= 0 && i < len(results) {
			results[i] = judgeEntry(aws.ToString(f.Code), aws.ToString(f.Message), f.SenderFault)
		}
	}
}

// judgeEntry decides whether the event or SQS caused the refusal of one entry.
func judgeEntry(code, text string, ours bool) error {
	switch {
	case isThrottled(code):
		return &outbox.Failure{Class: bezoar.Throttled, Reason: "SQS answered " + code}
	case ours && !strings.HasPrefix(code, "Kms") && !strings.Contains(code, "AccessDenied"):
		return outgoing.Refused("SQS answered %s: %.300s", code, text)
	}
	return fmt.Errorf("SQS answered %s: %.300s", code, text)
}

func isThrottled(code string) bool { return strings.Contains(code, "Throttl") }

// judge decides whether the event or SQS caused the refusal of a call. one means that the
// call had one record.
func (s *Sink) judge(err error, one bool) error {
	api, answered := errors.AsType[smithy.APIError](err)
	if !answered {
		return &brokers.Error{Kind: brokers.Unreachable, Err: fmt.Errorf("send to SQS: %w", err), Fix: "check that the queue's endpoint is running there"}
	}
	code := api.ErrorCode()
	if at := strings.LastIndexByte(code, '.'); at >= 0 {
		code = code[at+1:]
	}
	_, missing := errors.AsType[*types.QueueDoesNotExist](err)
	switch {
	case missing:
		return &brokers.Error{Kind: brokers.Missing, Err: fmt.Errorf("there is no queue %s", path.Base(s.url)), Fix: "create the queue, or check its name"}
	case isThrottled(code):
		return &outbox.Failure{Class: bezoar.Throttled, Reason: "SQS answered " + code}
	case one && (code == "BatchRequestTooLong" || strings.HasPrefix(code, "Invalid") && (strings.Contains(code, "Message") || strings.Contains(code, "Parameter") || strings.Contains(code, "Attribute"))):
		return outgoing.Refused("SQS answered %s: %.300s", code, api.ErrorMessage())
	case strings.Contains(code, "AccessDenied"), strings.Contains(code, "Token"), strings.Contains(code, "Signature"):
		return &brokers.Error{Kind: brokers.Denied, Err: fmt.Errorf("SQS answered %s: %.300s", code, api.ErrorMessage()), Fix: "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY set the keys"}
	}
	return fmt.Errorf("SQS answered %s: %.300s", code, api.ErrorMessage())
}

func (s *Sink) entry(id string, r *outbox.Record) types.SendMessageBatchRequestEntry {
	body, room := string(r.Payload), maxAttributes
	attributes := map[string]types.MessageAttributeValue{}
	set := func(name, value string) {
		attributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
	}
	if !isText(body) {
		body = base64.StdEncoding.EncodeToString(r.Payload)
		set(encodingAttribute, "base64")
		room--
	}
	for name, value := range outgoing.MessageAttributes(r, s.source, room) {
		set(name, value)
	}
	e := types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &body, MessageAttributes: attributes}
	if s.fifo {
		e.MessageDeduplicationId = aws.String(outgoing.ShortName(r.ID))
		group := cmp.Or(r.Key, r.ID) // a group of its own: no other message waits for it
		e.MessageGroupId = aws.String(outgoing.ShortName(group))
	}
	return e
}

// isText reports whether SQS accepts a body as text: all characters must be allowed in XML.
func isText(body string) bool {
	return utf8.ValidString(body) && !strings.ContainsFunc(body, func(c rune) bool {
		return c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0xfffe || c == 0xffff
	})
}

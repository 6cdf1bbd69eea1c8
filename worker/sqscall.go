package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
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
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/queue"
)

const (
	callPatience = 30 * time.Second // of a call, beyond what it waits for messages
	tries        = 5
	interrupted  = bezoar.Interrupted
)

// calls are how all calls of one queue are made.
type calls struct{ options func(*sqs.Options) }

func newCalls(client *sqs.Client) calls {
	retryer := retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = tries })
	transport := &buffered{client.Options().HTTPClient}
	return calls{options: func(o *sqs.Options) { o.Retryer, o.HTTPClient = retryer, transport }}
}

// buffered sends requests whose bodies nobody closes while net/http uses them: the
// SDK closes its own early, and on a busy machine an answer is dropped for that
// now and then.
type buffered struct{ client sqs.HTTPClient }

func (b *buffered) Do(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		_ = req.Body.Close() // it is in memory
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	return b.client.Do(req)
}

// isConnection reports whether a call got no answer at all.
func isConnection(err error) bool {
	if err == nil {
		return false
	}
	_, answered := errors.AsType[smithy.APIError](err)
	return !answered
}

// plainError has the cause of an SDK's error as its text. The SDK's own text has the
// names of its layers and an empty request ID around it.
type plainError struct {
	text string
	err  error
}

func (e *plainError) Error() string { return e.text }
func (e *plainError) Unwrap() error { return e.err }

// plainSQS gives an error of the SDK a plain text. Other errors stay as they are.
func plainSQS(err error) error {
	if _, ok := errors.AsType[*smithy.OperationError](err); !ok {
		return err
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return &plainError{strings.TrimSuffix(api.ErrorMessage(), ".") + " (" + api.ErrorCode() + ")", err}
	}
	sent, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err
	}
	cause := sent.Err
	if dial, ok := errors.AsType[*net.OpError](cause); ok && dial.Op == "dial" {
		if call, ok := errors.AsType[*os.SyscallError](dial.Err); ok {
			cause = call.Err // the URL has the address
		}
	}
	return &plainError{sent.URL + ": " + cause.Error(), err}
}

// header adds one to a call, and has it signed.
func header(name, value string) func(*sqs.Options) {
	return func(o *sqs.Options) { o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue(name, value)) }
}

// wireOutcome is an outcome as Bezoar's endpoint reads it.
type wireOutcome struct {
	queue.Outcome
	RetryAfter float64 `json:"retry_after,omitempty"`
	Downstream string  `json:"downstream,omitempty"`
	Holding    int     `json:"holding,omitempty"`
	Weak       bool    `json:"weak,omitempty"`
	Reject     bool    `json:"reject,omitempty"`
	Once       string  `json:"once,omitempty"`
}

// outcomeText is an outcome for a header: in ASCII.
func outcomeText(o *queue.Outcome, w *wireOutcome) (string, error) {
	w.Outcome = *o
	w.Reason, w.Failure, w.Detail = cut(o.Reason, 1024), cut(o.Failure, 256), cut(o.Detail, 512)
	w.Stderr = o.Stderr[max(len(o.Stderr)-queue.MaxStderr, 0):]
	text, err := json.Marshal(w)
	if err != nil {
		return "", err
	}
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		text = text[n:]
		switch {
		case r < utf8.RuneSelf:
			out = append(out, byte(r))
		case r > 0xffff:
			r -= 0x10000
			out = appendEscape(appendEscape(out, 0xd800+r>>10), 0xdc00+r&0x3ff)
		default:
			out = appendEscape(out, r)
		}
	}
	return string(out), nil
}

func appendEscape(out []byte, r rune) []byte {
	hex := "0000" + strconv.FormatInt(int64(r), 16)
	return append(append(out, `\u`...), hex[len(hex)-4:]...)
}

// Done deletes a message. Deletions of about the same time share one call.
func (s *SQSQueue) Done(ctx context.Context, m Message) error {
	return s.deletes.do(ctx, m.Receipt)
}

// deleteBatch deletes up to ten.
func (s *SQSQueue) deleteBatch(ctx context.Context, receipts []string) []error {
	results := make([]error, len(receipts))
	fail := func(err error) []error {
		for i := range results {
			results[i] = err
		}
		return results
	}
	if len(receipts) == 1 {
		_, err := s.Client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &s.URL, ReceiptHandle: &receipts[0]}, s.calls.options)
		return fail(lostSQS(err))
	}
	in := &sqs.DeleteMessageBatchInput{QueueUrl: &s.URL, Entries: make([]types.DeleteMessageBatchRequestEntry, len(receipts))}
	for i := range receipts {
		in.Entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &receipts[i]}
	}
	out, err := s.Client.DeleteMessageBatch(ctx, in, s.calls.options)
	if err != nil {
		return fail(err)
	}
	for _, f := range out.Failed {
		if i, err := strconv.Atoi(aws.ToString(f.Id)); err == nil && i >= 0 && i < len(results) {
			results[i] = lostSQS(&smithy.GenericAPIError{Code: aws.ToString(f.Code), Message: aws.ToString(f.Message)})
		}
	}
	return results
}

// batcher sends what several callers bring at about the same time as one call.
// Whoever comes alone does not wait: only when others came just before it waits
// for a moment for others to come.
type batcher struct {
	send func(ctx context.Context, items []string) []error

	mu      sync.Mutex // guards all below
	pending []*batched
	leading bool
	full    chan struct{} // of the leader: closed when there are enough
	last    time.Time
}

type batched struct {
	item string
	done chan error
}

const (
	batchMost = 10
	linger    = 5 * time.Millisecond
	recently  = 20 * time.Millisecond
)

func (b *batcher) do(ctx context.Context, item string) error {
	me := &batched{item: item, done: make(chan error, 1)}
	b.mu.Lock()
	now := time.Now()
	busy := now.Sub(b.last) < recently
	b.last = now
	b.pending = append(b.pending, me)
	if b.leading {
		if len(b.pending) == batchMost {
			close(b.full)
		}
		b.mu.Unlock()
		return me.wait(ctx)
	}
	b.leading, b.full = true, make(chan struct{})
	full := b.full
	b.mu.Unlock()
	if busy {
		select {
		case <-full:
		case <-time.After(linger):
		}
	}
	b.mu.Lock()
	batch := b.pending
	b.pending, b.leading = nil, false
	b.mu.Unlock()
	for len(batch) > 0 {
		n := min(len(batch), batchMost)
		b.sendSome(ctx, batch[:n])
		batch = batch[n:]
	}
	return me.wait(ctx)
}

// sendSome is for everybody in the batch: that its leader is in a hurry must not
// break it off.
func (b *batcher) sendSome(ctx context.Context, batch []*batched) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callPatience)
	defer cancel()
	items := each.Of(batch, func(one *batched) string { return one.item })
	for i, err := range b.send(ctx, items) {
		batch[i].done <- err
	}
}

func (m *batched) wait(ctx context.Context) error {
	select {
	case err := <-m.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

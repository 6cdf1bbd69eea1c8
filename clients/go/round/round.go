package round

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

// round is one run of a client against one endpoint.
type round struct {
	ctx      context.Context //nolint:containedctx // of the one run that this is
	out      io.Writer
	c        *sqs.Client
	endpoint string
	prefix   string // of every queue's name, so that runs do not meet
	key      string
	secret   string // "": the endpoint believes everybody
	bezoar   bool   // the endpoint has what only Bezoar has
	failed   int
	made     []string // URLs of queues
}

// Main runs every check and returns the exit code.
func Main() int {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	r := &round{
		ctx: ctx, out: os.Stdout, endpoint: os.Getenv("CLIENTS_ENDPOINT"), prefix: os.Getenv("CLIENTS_PREFIX"),
		key: or(os.Getenv("CLIENTS_KEY"), "any"), secret: os.Getenv("CLIENTS_SECRET"), bezoar: os.Getenv("CLIENTS_PEER") == "",
	}
	if r.endpoint == "" || r.prefix == "" {
		fmt.Fprintln(os.Stderr, "set CLIENTS_ENDPOINT to the endpoint's URL and CLIENTS_PREFIX to what queues' names begin with")
		return 2
	}
	r.c = r.client(r.key, or(r.secret, "any"))
	for _, c := range checks() {
		if c.bezoar && !r.bezoar || c.signed && r.secret == "" {
			continue
		}
		r.check(c.name, c.run)
	}
	r.check("queues are deleted", (*round).deleteAll)
	if r.failed > 0 {
		fmt.Fprintf(r.out, "%d checks failed\n", r.failed)
		return 1
	}
	return 0
}

// check runs one check and prints its line.
func (r *round) check(name string, run func(*round) error) {
	if err := run(r); err != nil {
		r.failed++
		fmt.Fprintf(r.out, "FAIL %s: %v\n", name, err)
		return
	}
	fmt.Fprintln(r.out, "ok   "+name)
}

// client returns one with these credentials.
func (r *round) client(key, secret string) *sqs.Client {
	return sqs.New(sqs.Options{
		Region:           "us-east-1",
		BaseEndpoint:     aws.String(r.endpoint),
		RetryMaxAttempts: 1, // what fails once is a failure
		HTTPClient:       &http.Client{Transport: buffered{http.DefaultTransport}},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: key, SecretAccessKey: secret}, nil
		}),
	})
}

// buffered sends and receives whole bodies. The SDK closes a request's body
// once it has the response's header, which on a busy machine now and then cuts
// off the response.
type buffered struct{ next http.RoundTripper }

func (b buffered) RoundTrip(req *http.Request) (*http.Response, error) {
	own := req.Clone(req.Context())
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		own.Body = io.NopCloser(bytes.NewReader(body))
	}
	resp, err := b.next.RoundTrip(own)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, err
}

// queue makes a queue and returns its URL.
func (r *round) queue(name string, attributes map[string]string) (string, error) {
	out, err := r.c.CreateQueue(r.ctx, &sqs.CreateQueueInput{QueueName: aws.String(r.prefix + name), Attributes: attributes})
	if err != nil {
		return "", err
	}
	r.made = append(r.made, *out.QueueUrl)
	return *out.QueueUrl, nil
}

// attribute returns one of a queue.
func (r *round) attribute(url string, name types.QueueAttributeName) (string, error) {
	out, err := r.c.GetQueueAttributes(r.ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{name}})
	if err != nil {
		return "", err
	}
	return out.Attributes[string(name)], nil
}

func (r *round) send(url, body string) error {
	_, err := r.c.SendMessage(r.ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &body})
	return err
}

// receive returns up to ten messages; it waits at most so many seconds for the
// first.
func (r *round) receive(url string, wait int32) ([]types.Message, error) {
	out, err := r.c.ReceiveMessage(r.ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &url, MaxNumberOfMessages: 10, WaitTimeSeconds: wait,
		AttributeNames:        []types.QueueAttributeName{types.QueueAttributeNameAll},
		MessageAttributeNames: []string{"All"},
	})
	if err != nil {
		return nil, err
	}
	return out.Messages, nil
}

// drain receives until it has the bodies wanted, in any order, and returns the
// messages.
func (r *round) drain(url string, want ...string) ([]types.Message, error) {
	var all []types.Message
	for len(all) < len(want) {
		got, err := r.receive(url, 5)
		if err != nil {
			return nil, err
		}
		if len(got) == 0 {
			break
		}
		all = append(all, got...)
	}
	bodies := bodiesOf(all)
	slices.Sort(bodies)
	slices.Sort(want)
	return all, same("bodies", bodies, want)
}

// one receives exactly one message.
func (r *round) one(url, want string) (types.Message, error) {
	all, err := r.drain(url, want)
	if err != nil {
		return types.Message{}, err
	}
	return all[0], nil
}

// none makes sure that nothing is there to be received.
func (r *round) none(url string) error {
	got, err := r.receive(url, 0)
	if err != nil {
		return err
	}
	return same("bodies", bodiesOf(got), nil)
}

func (r *round) deleteAll() error {
	for _, url := range r.made {
		if _, err := r.c.DeleteQueue(r.ctx, &sqs.DeleteQueueInput{QueueUrl: &url}); err != nil {
			return err
		}
	}
	if len(r.made) == 0 {
		return errors.New("no queue was made")
	}
	return wantMissing(r.send(r.made[0], "x"))
}

// wantMissing: the older SDK has the type, but not for every operation.
func wantMissing(err error) error {
	if wantType[*types.QueueDoesNotExist](err) == nil {
		return nil
	}
	return wantCode(err, "AWS.SimpleQueueService.NonExistentQueue")
}

// bodiesOf is nil for no messages.
func bodiesOf(all []types.Message) (bodies []string) {
	for _, m := range all {
		bodies = append(bodies, aws.ToString(m.Body))
	}
	return bodies
}

// wantType wants an error of the SDK's own type.
func wantType[E error](err error) error {
	if e, ok := errors.AsType[E](err); !ok {
		return fmt.Errorf("want the error %T, and it is %T: %w", e, err, orNone(err))
	}
	return nil
}

// orNone stands in for an error that did not come.
func orNone(err error) error {
	if err == nil {
		return errors.New("no error came")
	}
	return err
}

// wantCode wants an error that the SDK has no type for.
func wantCode(err error, codes ...string) error {
	var e smithy.APIError
	if !errors.As(err, &e) {
		return fmt.Errorf("want the code %s: %w", strings.Join(codes, " or "), orNone(err))
	}
	if !slices.Contains(codes, e.ErrorCode()) {
		return fmt.Errorf("code %s (%s), want %s", e.ErrorCode(), e.ErrorMessage(), strings.Join(codes, " or "))
	}
	return nil
}

// same compares what came with what should have come.
func same[T any](what string, got, want T) error {
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		return fmt.Errorf("%s: %.300s, want %.300s", what, g, w)
	}
	return nil
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// sdk is the AWS SDK for Go at an endpoint, and one queue.
type sdk struct {
	*testing.T
	*awssqs.Client
	queue string // its URL
}

func newSDK(t *testing.T, endpoint, queue string, attributes map[string]string) *sdk {
	t.Helper()
	h := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	t.Cleanup(h.CloseIdleConnections)
	c := awssqs.New(awssqs.Options{Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: aws.AnonymousCredentials{}, HTTPClient: h})
	out, err := c.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &queue, Attributes: attributes})
	if err != nil {
		t.Fatal(err)
	}
	return &sdk{t, c, *out.QueueUrl}
}

func (s *sdk) send(body string) {
	s.Helper()
	if _, err := s.SendMessage(s.Context(), &awssqs.SendMessageInput{QueueUrl: &s.queue, MessageBody: &body}); err != nil {
		s.Fatal(err)
	}
}

// receive waits so many seconds for one message.
func (s *sdk) receive(queue string, wait int32) *types.Message {
	s.Helper()
	out, err := s.ReceiveMessage(s.Context(), &awssqs.ReceiveMessageInput{
		QueueUrl: &queue, WaitTimeSeconds: wait, MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		s.Fatal(err)
	}
	if len(out.Messages) == 0 {
		return nil
	}
	return &out.Messages[0]
}

// done deletes a message: a worker that holds one gets no suspect.
func (s *sdk) done(queue string, m *types.Message) {
	s.Helper()
	if _, err := s.DeleteMessage(s.Context(), &awssqs.DeleteMessageInput{QueueUrl: &queue, ReceiptHandle: m.ReceiptHandle}); err != nil {
		s.Fatal(err)
	}
}

// fails receives the message, and reports how it ended.
func (s *sdk) fails(body, outcome string) {
	s.Helper()
	m := s.receive(s.queue, 20)
	if m == nil || *m.Body != body {
		s.Fatalf("received %+v, want %s", m, body)
	}
	_, err := s.ChangeMessageVisibility(s.Context(), &awssqs.ChangeMessageVisibilityInput{QueueUrl: &s.queue, ReceiptHandle: m.ReceiptHandle},
		func(o *awssqs.Options) {
			o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue("X-Bezoar-Outcome", outcome))
		})
	if err != nil {
		s.Fatal(err)
	}
}

// letter takes a letter of such a body and returns its class.
func (s *sdk) letter(body string) string {
	s.Helper()
	dead := s.queue + "-dlq"
	m := s.receive(dead, 20)
	if m == nil || *m.Body != body {
		s.Fatalf("set aside is %+v, want %s", m, body)
	}
	s.done(dead, m)
	return m.Attributes["BezoarClass"]
}

// Messages of a few bytes that kill or fail are set aside as any others, without a
// RedrivePolicy. A copy that is done frees the body.
func TestBriefMessagesThatFailAreSetAside(t *testing.T) {
	t.Parallel()
	for _, store := range stores(t, "sqlite") {
		t.Run(store.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cfg := setup{Store: store.open(t, dir), StateDir: dir}.config()
			cfg.Fleets, cfg.Routes, cfg.Listen, cfg.SQS = nil, nil, "", "127.0.0.1:0"
			a, stop := launch(t, cfg.Normalize())
			defer stop()
			s := newSDK(t, "http://"+a.SQSAddr(), "brief", map[string]string{"BezoarRetryStrategy": "immediate", "BezoarQuarantineFor": "15"})
			for body, c := range map[string]struct {
				outcome string
				times   int
			}{
				"17": {`{"class":"crash","detail":"signal: killed"}`, 2},
				"1":  {`{"class":"bug","failure":"KeyError@jobs.py:7","reason":"KeyError: 1"}`, 3},
				"ok": {`{"class":"oom"}`, 2},
			} {
				s.send(body)
				for range c.times {
					s.fails(body, c.outcome)
				}
				if class := s.letter(body); !strings.Contains(c.outcome, class) {
					t.Fatalf("%s is set aside as %s", body, class)
				}
				if m := s.receive(s.queue, 0); m != nil {
					t.Fatalf("%s is delivered once more", body)
				}
			}
			until(t, patience, "a copy of it is tried", func() bool {
				s.send("17")
				m := s.receive(s.queue, 1)
				if m == nil {
					return false
				}
				s.done(s.queue, m)
				return true
			})
			for range 2 {
				s.send("17")
			}
			for range 2 {
				if m := s.receive(s.queue, 20); m == nil {
					t.Fatal("the body is not free although a copy of it was done")
				}
			}
		})
	}
}

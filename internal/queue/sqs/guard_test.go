package sqs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/queue/sqs"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
	"github.com/bezoar-dev/bezoar/queue"
)

func TestWhoMayCall(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		host, origin, site string
		may                bool
	}{
		{host: "127.0.0.1:9324", may: true},
		{host: "[::1]:9324", may: true},
		{host: "10.1.2.3", may: true}, // no page can take it
		{host: "localhost:9324", may: true},
		{host: "LOCALHOST", may: true},
		{host: "sqs.us-east-1.localhost:9324", may: true},
		{host: "host.docker.internal:9324", may: true},
		{host: "evil.example:9324"},
		{host: "localhost.evil.example"},
		{host: "127.0.0.1.evil.example"},
		{host: ""},
		{host: "localhost:9324", origin: "http://localhost:9324", may: true},
		{host: "localhost:9324", origin: "http://evil.example"},
		{host: "localhost:9324", origin: "http://localhost:8080"},
		{host: "localhost:9324", origin: "null"},
		{host: "localhost:9324", site: "none", may: true},
		{host: "localhost:9324", site: "same-origin", may: true},
		{host: "localhost:9324", site: "same-site"},
		{host: "localhost:9324", site: "cross-site"},
	} {
		// What an image in a page could ask for.
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, r.url+"/?Action=ListQueues", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = c.host
		if c.host == "" {
			req.Host = "."
		}
		for header, value := range map[string]string{"Origin": c.origin, "Sec-Fetch-Site": c.site} {
			if value != "" {
				req.Header.Set(header, value)
			}
		}
		if a := r.do(req); c.may {
			a.ok()
		} else {
			a.fails(403, "AccessDenied")
		}
	}
}

type signatures struct{ err error }

func (s signatures) Verify(_ *http.Request, body []byte, now time.Time) error {
	if len(body) == 0 || time.Since(now).Abs() > time.Minute {
		return fmt.Errorf("verified %q at %v", body, now)
	}
	return s.err
}

type refusal struct{}

func (refusal) Error() string { return "The request signature does not match." }
func (refusal) Code() string  { return "SignatureDoesNotMatch" }
func (refusal) Status() int   { return http.StatusForbidden }

func TestSignatures(t *testing.T) {
	e := newEngine(t)
	for err, want := range map[error]string{nil: "", refusal{}: "SignatureDoesNotMatch", fmt.Errorf("wrapped: %w", refusal{}): "SignatureDoesNotMatch", fmt.Errorf("plain"): "AccessDenied"} {
		h, herr := sqs.New(sqs.Config{Engine: e, Address: "0.0.0.0:9324", Verifier: signatures{err}})
		if herr != nil {
			t.Fatal(herr)
		}
		r := newRigOver(t, e, h)
		req := r.jsonRequest("ListQueues", `{}`)
		req.Host = "queues.example" // any name, with a signature
		if a := r.do(req); want == "" {
			a.ok()
		} else {
			a.fails(403, want, `"__type":"com.amazon.coral.service#`+want)
		}
	}
}

func TestConfig(t *testing.T) {
	e := newEngine(t)
	for _, c := range []struct {
		config sqs.Config
		faults []string
	}{
		{sqs.Config{Engine: e}, nil},
		{sqs.Config{Engine: e, Address: "localhost:1"}, nil},
		{sqs.Config{Engine: e, Address: "[::1]:1"}, nil},
		{sqs.Config{}, []string{"Engine: is missing"}},
		{sqs.Config{Engine: e, Address: ":9324"}, []string{"needs access keys"}},
		{sqs.Config{Engine: e, Address: "0.0.0.0:9324", Region: "A", Account: "1", MaxConnections: -1}, []string{"Address: 0.0.0.0:9324", "Region:", "Account:", "MaxConnections:"}},
		{sqs.Config{Engine: e, Address: "9324"}, []string{"Address:"}},
		{sqs.Config{Engine: e, Address: "0.0.0.0:9324", Verifier: signatures{}}, nil},
	} {
		err := c.config.Validate()
		if (err == nil) != (len(c.faults) == 0) {
			t.Errorf("%+v: %v", c.config, err)
			continue
		}
		for _, f := range c.faults {
			if !strings.Contains(err.Error(), f) {
				t.Errorf("%v does not say %s", err, f)
			}
		}
		if _, newErr := sqs.NewServer(c.config); (newErr == nil) != (err == nil) {
			t.Errorf("NewServer says %v, Validate %v", newErr, err)
		}
	}
}

func TestPagesForPeopleAndProbes(t *testing.T) {
	r := newRig(t)
	get := func(method, path string) answer {
		req, err := http.NewRequestWithContext(context.Background(), method, r.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r.do(req)
	}
	get(http.MethodGet, "/").ok().has("compatible with Amazon SQS", "--endpoint-url "+r.url)
	get(http.MethodGet, "/health").ok().has("ok")
	get(http.MethodHead, "/health").ok()
	get(http.MethodGet, "/000000000000/q").fails(400, "MissingAction")
	get(http.MethodDelete, "/").fails(400, "AWS.SimpleQueueService.UnsupportedOperation")
}

func TestStoresThatFail(t *testing.T) {
	e, err := queue.New(queue.Config{}, slow{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := sqs.New(sqs.Config{Engine: e})
	if err != nil {
		t.Fatal(err)
	}
	r := newRigOver(t, e, h)
	a := r.json("GetQueueUrl", `{"QueueName":"late"}`).fails(503, "ServiceUnavailable")
	if a.header.Get("X-Amz-Retry-After") != "1000" || a.header.Get("Retry-After") != "1" {
		t.Errorf("the headers are %v", a.header)
	}
	r.form("GetQueueUrl", "QueueName", "broken").fails(500, "InternalFailure", "<Type>Receiver</Type>").lacks("secret")
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, r.url+"/health", nil)
	if err != nil {
		t.Fatal(err)
	}
	if a := r.do(req); a.status != 503 {
		t.Errorf("health is %d", a.status)
	}
}

// What only the operator can mend is in the log once, whichever operation failed.
func TestAFailureIsLoggedOnce(t *testing.T) {
	db, err := memory.Open(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := queue.New(queue.Config{}, full{db.Queue()})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	h, err := sqs.New(sqs.Config{Engine: e, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	r := newRigOver(t, e, h)
	r.create("full")
	url := r.queueURL("full")
	r.json("SendMessage", fmt.Sprintf(`{"QueueUrl":%q,"MessageBody":"x"}`, url)).fails(500, "InternalFailure")
	r.json("SendMessageBatch", fmt.Sprintf(`{"QueueUrl":%q,"Entries":[{"Id":"a","MessageBody":"x"}]}`, url)).fails(500, "InternalFailure")
	if n := strings.Count(log.String(), "SQS call failed"); n != 2 || strings.Count(log.String(), "no room") != n {
		t.Errorf("of two failures the log says:\n%s", log.String())
	}
}

// full is a store that takes no messages.
type full struct{ queue.Store }

func (full) Send(context.Context, int64, []queue.Entry) ([]queue.Sent, error) {
	return nil, errors.New("there is no room")
}

// slow is a store that cannot be asked for queues.
type slow struct{ queue.Store }

func (slow) Shared() bool { return true }

func (slow) Queue(_ context.Context, name string) (queue.Queue, error) {
	if name == "late" {
		return queue.Queue{}, context.DeadlineExceeded
	}
	return queue.Queue{}, fmt.Errorf("the secret disk is full")
}

func (slow) Queues(context.Context, queue.ListQuery) ([]queue.Queue, error) {
	return nil, context.DeadlineExceeded
}

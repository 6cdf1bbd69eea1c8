package sqs_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/queue/sqs"
)

// Over TLS everything is as it is without: queues have https URLs, and a consumer
// whose connection closes is missed.
func TestTLS(t *testing.T) {
	other := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer other.Close()
	s := serve(t, func(c *sqs.Config) { c.TLS = other.TLS })
	s.send(1, 10)
	client := other.Client()
	call := func(op, body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+s.addr+"/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Amz-Target", "AmazonSQS."+op)
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK || res.ProtoMajor != 1 {
			t.Fatalf("%s: %s %d %s, %v", op, res.Proto, res.StatusCode, text, err)
		}
		return string(text)
	}
	url := "https://" + s.addr + "/000000000000/q"
	if got := call("ListQueues", `{}`); !strings.Contains(got, url) {
		t.Errorf("the queues are %s", got)
	}
	if got := call("ReceiveMessage", `{"QueueUrl":"`+url+`"}`); !strings.Contains(got, "aaaaaaaaaa") {
		t.Errorf("received %s", got)
	}
	client.CloseIdleConnections()
	within(t, func() bool { return len(s.gone()) == 1 })
	if res, err := http.Get("http://" + s.addr + "/"); err == nil {
		defer res.Body.Close()
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("in plain HTTP it answers %d", res.StatusCode)
		}
	}
}

package cloudevents

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/bezoar-dev/bezoar/internal/outbox/sinks"
	"github.com/bezoar-dev/bezoar/outbox"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// receiver is an endpoint that somebody else has written with the SDK.
type receiver struct {
	t    *testing.T
	mode string

	mu  sync.Mutex
	all map[string]event.Event
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		r.t.Error(err)
	}
	verifier, err := webhooks.NewWebhook(secret)
	if err == nil {
		err = verifier.Verify(body, req.Header)
	}
	if err != nil {
		r.t.Errorf("the signature: %v", err)
	}
	if verifier.Verify(append(body, ' '), req.Header) == nil {
		r.t.Error("the signature holds for another body")
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	var events []event.Event
	if r.mode == "batched" {
		events, err = cehttp.NewEventsFromHTTPRequest(req)
	} else {
		var one *event.Event
		if one, err = cehttp.NewEventFromHTTPRequest(req); err == nil {
			events = append(events, *one)
		}
	}
	if err != nil {
		r.t.Errorf("the SDK reads it: %v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		if err := e.Validate(); err != nil {
			r.t.Errorf("%s: %v", e.ID(), err)
		}
		r.all[e.ID()] = e
	}
	w.WriteHeader(http.StatusNoContent)
}

// TestTheSDKReadsWebhooks sends events with all kinds of payloads, keys and headers.
func TestTheSDKReadsWebhooks(t *testing.T) {
	written := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	var records []outbox.Record
	for i, payload := range []string{`{"order": 1, "price": 2.50}`, "text", "\x00\xff\xfe", "", "ünïcode", `"a string"`} {
		records = append(records, outbox.Record{
			Event: outbox.Event{
				ID: fmt.Sprint("id-", i), Topic: "orders.paid", Key: "order 7/ä \"%\"", Type: "order.paid", Payload: []byte(payload),
				Headers: map[string]string{"X-Tenant": "acme", "Traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
			},
			Position: int64(i), Sequence: int64(i + 1), Written: written,
		})
	}
	for _, mode := range []string{"binary", "structured", "batched"} {
		t.Run(mode, func(t *testing.T) {
			r := &receiver{t: t, mode: mode, all: map[string]event.Event{}}
			server := httptest.NewServer(r)
			defer server.Close()
			sink, err := sinks.Open(t.Context(), server.URL+"/hook#mode="+mode+"&secret_env=HOOK", sinks.Options{
				Source: "/outbox/shop", Getenv: func(string) string { return secret },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer sink.Close()
			for i, err := range sink.Send(t.Context(), records) {
				if err != nil {
					t.Errorf("record %d: %v", i, err)
				}
			}
			for i, sent := range records {
				e := r.all[sent.ID]
				data := string(e.Data())
				if i == 0 { // JSON may come without its blanks
					data = strings.ReplaceAll(data, " ", "")
					sent.Payload = []byte(strings.ReplaceAll(string(sent.Payload), " ", ""))
				}
				subject := e.Subject()
				if mode == "binary" { // the SDK for Go leaves to its users what CloudEvents over HTTP escapes in headers
					if subject, err = url.PathUnescape(subject); err != nil {
						t.Error(err)
					}
				}
				if e.SpecVersion() != "1.0" || e.Source() != "/outbox/shop" || e.Type() != sent.Type || subject != sent.Key || !e.Time().Equal(written) || data != string(sent.Payload) {
					t.Errorf("%d came as %v %q %v %q", i, e.Context, subject, e.Time(), data)
				}
				if more := e.Extensions(); more["topic"] != sent.Topic || more["sequence"] != fmt.Sprintf("%019d", i+1) || mode != "binary" && more["xtenant"] != "acme" {
					t.Errorf("%d came with %v", i, more)
				}
			}
		})
	}
}

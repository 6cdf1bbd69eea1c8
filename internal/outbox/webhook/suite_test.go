package webhook

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/outbox/sinks/sinktest"
	"github.com/bezoar-dev/bezoar/outbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const limit = 200_000 // bytes of a body that the receiver takes

// receiver is somebody else's endpoint.
type receiver struct {
	t      *testing.T
	server *httptest.Server
	cfg    Config

	mu       sync.Mutex
	all      []sinktest.Delivery
	requests int
	answer   func(w http.ResponseWriter, all []sinktest.Delivery) bool // has answered
}

func newReceiver(t *testing.T, mode string) *receiver {
	t.Helper()
	r := &receiver{t: t}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	at, err := url.Parse(r.server.URL + "/hook/s3cret?token=hush")
	if err != nil {
		t.Fatal(err)
	}
	r.cfg = Config{URL: at, Source: sinktest.Source, Mode: mode}
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil || req.Method != http.MethodPost || req.URL.RequestURI() != "/hook/s3cret?token=hush" {
		r.t.Errorf("%s %s: %v", req.Method, req.URL, err)
	}
	all := r.read(req, body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	switch {
	case r.answer != nil && r.answer(w, all):
	case len(body) > limit:
		http.Error(w, "too much", http.StatusRequestEntityTooLarge)
	default:
		r.all = append(r.all, all...)
		w.WriteHeader(http.StatusAccepted)
	}
}

// read reads CloudEvents in each of their modes.
func (r *receiver) read(req *http.Request, body []byte) []sinktest.Delivery {
	switch req.Header.Get("Content-Type") {
	case "application/cloudevents+json; charset=utf-8":
		return []sinktest.Delivery{r.structured(body)}
	case "application/cloudevents-batch+json; charset=utf-8":
		var all []json.RawMessage
		if err := json.Unmarshal(body, &all); err != nil {
			r.t.Errorf("a batch is no JSON: %v", err)
		}
		var out []sinktest.Delivery
		for _, one := range all {
			out = append(out, r.structured(one))
		}
		return out
	}
	d := sinktest.Delivery{Headers: map[string]string{}, Payload: body}
	attributes := map[string]string{}
	for name, values := range req.Header {
		if attribute, ok := strings.CutPrefix(name, "Ce-"); ok {
			value, err := url.PathUnescape(values[0])
			if err != nil {
				r.t.Errorf("%s: %v", name, err)
			}
			attributes[strings.ToLower(attribute)] = value
		} else if !strings.HasPrefix(name, "Webhook-") && !strings.Contains(" User-Agent Content-Length Content-Type Accept-Encoding Authorization ", " "+name+" ") {
			d.Headers[name] = values[0]
		}
	}
	r.required(attributes)
	d.ID, d.Topic, d.Key, d.Type, d.Source = attributes["id"], attributes["topic"], attributes["subject"], attributes["type"], attributes["source"]
	return []sinktest.Delivery{d}
}

func (r *receiver) structured(body []byte) sinktest.Delivery {
	var all struct {
		Data   json.RawMessage `json:"data"`
		Base64 []byte          `json:"data_base64"`
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	if err := decoder.Decode(&all); err != nil {
		r.t.Errorf("an event is no JSON: %v", err)
	}
	var rest map[string]any
	if err := json.Unmarshal(body, &rest); err != nil {
		r.t.Errorf("an event is no JSON: %v", err)
	}
	d := sinktest.Delivery{Headers: map[string]string{}, Payload: all.Base64}
	if len(all.Data) > 0 {
		d.Payload = all.Data
	}
	attributes := map[string]string{}
	for name, value := range rest {
		text, ok := value.(string)
		switch {
		case name == "data" || name == "data_base64":
		case !ok || strings.ToLower(name) != name || strings.ContainsAny(name, "-_. "):
			r.t.Errorf("there is no attribute %s such as %v", name, value)
		case strings.Contains(" id topic subject type source specversion time sequence datacontenttype ", " "+name+" "):
			attributes[name] = text
		default:
			d.Headers[name] = text
		}
	}
	r.required(attributes)
	d.ID, d.Topic, d.Key, d.Type, d.Source = attributes["id"], attributes["topic"], attributes["subject"], attributes["type"], attributes["source"]
	return d
}

func (r *receiver) required(attributes map[string]string) {
	for _, name := range []string{"id", "source", "type", "specversion"} {
		if attributes[name] == "" {
			r.t.Errorf("an event has no %s: %v", name, attributes)
		}
	}
}

func (r *receiver) Sink(t *testing.T) outbox.Sink { t.Helper(); return newSink(t, r.cfg) }

func newSink(t *testing.T, cfg Config) *Sink {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (r *receiver) Delivered(*testing.T) []sinktest.Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]sinktest.Delivery(nil), r.all...)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{Binary, Structured, Batched} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			sinktest.Run(t, sinktest.Traits{
				At: func(t *testing.T, address string) outbox.Sink {
					t.Helper()
					return newSink(t, Config{URL: &url.URL{Scheme: "http", Host: address}, Source: sinktest.Source, Mode: mode})
				},
				TooLarge: limit + 1, Folds: true,
				Invalid: func(r *outbox.Record) { r.Headers = map[string]string{"X-Split": "a\r\nX-Other: b"} },
			}, func(t *testing.T) sinktest.Place { t.Helper(); return newReceiver(t, mode) })
		})
	}
}

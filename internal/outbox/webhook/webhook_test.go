package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/outbox/sinks/sinktest"
	"github.com/bezoar-dev/bezoar/outbox"
)

// The vector of the Standard Webhooks specification's libraries.
func TestSignatureIsTheStandards(t *testing.T) {
	t.Parallel()
	var c Config
	if err := c.addKeys("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw plain-secret-of-24-bytes\n", "test"); err != nil {
		t.Fatal(err)
	}
	s := &Sink{cfg: c}
	h := http.Header{}
	body := []byte(`{"test": 2432232314}`)
	s.sign(h, "msg_p5jXN8AQM9LWM0D4loKWxJek", body)
	signatures := strings.Split(h.Get("Webhook-Signature"), " ")
	if len(signatures) != 2 || h.Get("Webhook-Id") != "msg_p5jXN8AQM9LWM0D4loKWxJek" {
		t.Fatalf("%v", h)
	}
	key, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range [][]byte{key, []byte("plain-secret-of-24-bytes")} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte("msg_p5jXN8AQM9LWM0D4loKWxJek." + h.Get("Webhook-Timestamp") + "." + string(body)))
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); signatures[i] != want {
			t.Errorf("signature %d is %s, want %s", i, signatures[i], want)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	plain := bezoar.Done // no class
	for code, want := range map[int]bezoar.Class{
		200: bezoar.Done, 204: bezoar.Done, 301: plain, 307: plain, 400: bezoar.Invalid, 401: plain, 403: plain, 404: plain, 408: bezoar.Transient,
		409: bezoar.Transient, 410: plain, 413: bezoar.Invalid, 415: bezoar.Invalid, 418: bezoar.Invalid, 422: bezoar.Invalid, 429: bezoar.Throttled,
		500: bezoar.Transient, 502: bezoar.Outage, 503: bezoar.Throttled, 504: bezoar.Outage,
	} {
		r := newReceiver(t, Binary)
		r.answer = func(w http.ResponseWriter, _ []sinktest.Delivery) bool {
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Location", "/hook/s3cret?token=hush")
			w.WriteHeader(code)
			fmt.Fprintf(w, "no\x1b[31m price\nsecond line %s", strings.Repeat("x", 100_000))
			return true
		}
		err := newSink(t, r.cfg).Send(t.Context(), []outbox.Record{sinktest.Record(1, "k")})[0]
		f, blames := errors.AsType[*outbox.Failure](err)
		switch {
		case code/100 == 2:
			if err != nil {
				t.Errorf("%d: %v", code, err)
			}
			continue
		case want == plain:
			if err == nil || blames {
				t.Errorf("%d: %v, want the place's fault", code, err)
			}
		case !blames || f.Class != want || f.RetryAfter != 7*time.Second:
			t.Errorf("%d: %+v, want %v", code, err, want)
		}
		if says := err.Error(); !strings.Contains(says, fmt.Sprint(code)) || !strings.Contains(says, "no[31m price") || strings.Contains(says, "second") || strings.Contains(says, "s3cret") || strings.Contains(says, "hush") {
			t.Errorf("%d says %q", code, says)
		}
		if r.requests != 1 {
			t.Errorf("%d: %d requests were sent", code, r.requests)
		}
	}
}

// One event that the endpoint fails on does not hold up those of other keys; an endpoint
// that fails on all is left alone soon.
func TestHowFarItGoesOn(t *testing.T) {
	t.Parallel()
	var records []outbox.Record
	for i := range 100 {
		records = append(records, sinktest.Record(int64(i+1), fmt.Sprint("key ", i%50)))
	}
	r := newReceiver(t, Binary)
	r.answer = func(w http.ResponseWriter, all []sinktest.Delivery) bool {
		if all[0].Key == "key 0" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		return all[0].Key == "key 0"
	}
	results := newSink(t, r.cfg).Send(t.Context(), records)
	if len(r.Delivered(t)) != 98 || results[0] == nil || !errors.Is(results[50], outbox.ErrBehind) {
		t.Errorf("%d came, want 98: %v, %v", len(r.Delivered(t)), results[0], results[50])
	}
	r = newReceiver(t, Binary)
	r.answer = func(w http.ResponseWriter, _ []sinktest.Delivery) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	results = newSink(t, r.cfg).Send(t.Context(), records)
	if slices.Contains(results, nil) || r.requests > patience+DefaultParallel {
		t.Errorf("%d requests were sent to an endpoint that is overloaded", r.requests)
	}
}

// Two bad events of a batch are found, with few requests.
func TestABatchIsHalved(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, Batched)
	r.answer = func(w http.ResponseWriter, all []sinktest.Delivery) bool {
		for _, d := range all {
			if d.ID == "event-17" || d.ID == "event-83" {
				w.WriteHeader(http.StatusUnprocessableEntity)
				return true
			}
		}
		return false
	}
	var records []outbox.Record
	for i := range 100 {
		records = append(records, sinktest.Record(int64(i+1), fmt.Sprint("key ", i%50)))
	}
	for i, err := range newSink(t, r.cfg).Send(t.Context(), records) {
		switch i + 1 {
		case 17, 83:
			if f, ok := errors.AsType[*outbox.Failure](err); !ok || f.Class != bezoar.Invalid {
				t.Errorf("event %d: %v", i+1, err)
			}
		case 67: // its key is 17's
			if !errors.Is(err, outbox.ErrBehind) {
				t.Errorf("event %d: %v", i+1, err)
			}
		default:
			if err != nil {
				t.Errorf("event %d: %v", i+1, err)
			}
		}
	}
	if len(r.Delivered(t)) != 97 || r.requests > 30 {
		t.Errorf("%d came with %d requests", len(r.Delivered(t)), r.requests)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body) // or the server does not see that the client has gone
		close(asked)
		<-req.Context().Done()
	}))
	defer server.Close()
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := newSink(t, Config{URL: at, Source: "/x", Timeout: 50 * time.Millisecond})
	err = s.Send(t.Context(), []outbox.Record{sinktest.Record(1, "")})[0]
	if f, ok := errors.AsType[*outbox.Failure](err); !ok || f.Class != bezoar.Timeout {
		t.Errorf("it says %v, want a timeout", err)
	}
	<-asked
}

// Keys go side by side, and those of one do not.
func TestKeysGoSideBySide(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int32
	all := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if n := now.Add(1); n == 4 {
			close(all) // four are here at once
		} else {
			most.Store(max(most.Load(), n))
		}
		<-all
	}))
	defer server.Close()
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	records := []outbox.Record{sinktest.Record(1, "a"), sinktest.Record(2, "b"), sinktest.Record(3, "c"), sinktest.Record(4, "d"), sinktest.Record(5, "a")}
	for _, err := range newSink(t, Config{URL: at, Source: "/x", Parallel: 4}).Send(ctx, records) {
		if err != nil {
			t.Error(err)
		}
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("a-secret-from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) string {
		return map[string]string{"HOOK": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "SHORT": "short", "BAD": "whsec_!", "TOKEN": "t0ken"}[name]
	}
	c, err := FromURL("https://u:pw@h/p?mode=theirs#mode=batched&secret_env=HOOK&secret_file="+url.QueryEscape(file)+"&token_env=TOKEN&timeout=5s&parallel=3&batch=7", env)
	if err != nil || c.URL.String() != "https://u:pw@h/p?mode=theirs" || c.Mode != Batched || len(c.Keys) != 2 || c.Token != "t0ken" || c.Timeout != 5*time.Second || c.Parallel != 3 || c.Batch != 7 {
		t.Errorf("%+v: %v", c, err)
	}
	for text, says := range map[string]string{
		"http://h/#mode=odd":           "mode:",
		"http://h/#secret_env=NONE":    "has no secret",
		"http://h/#secret_env=SHORT":   "fewer than",
		"http://h/#secret_env=BAD":     "want base64",
		"http://h/#secret_file=/no":    "secret_file",
		"http://h/#token_env=NONE":     "token_env",
		"http://h/#timeout=soon":       "timeout",
		"http://h/#parallel=0":         "parallel",
		"http://h/#batch=9999":         "batch:",
		"http://h/#colour=red":         "there is no parameter colour",
		"http:///p":                    "URL:",
		"http://u:hush\x7f@h/p":        "malformed",
		"http://h/#mode=%zz&hush=hush": "malformed",
	} {
		c, err := FromURL(text, env)
		if err == nil {
			c.Source = "/x"
			err = c.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

// What an event's own headers say about the connection, or in our names, is not sent.
func TestReservedHeaders(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, Binary)
	r.cfg.Token = "t0ken"
	record := sinktest.Record(1, "k")
	record.Headers = map[string]string{"Content-Length": "3", "Transfer-Encoding": "chunked", "Host": "other", "ce-id": "forged", "webhook-signature": "forged", "Connection": "close", "X-Own": "kept"}
	if err := newSink(t, r.cfg).Send(t.Context(), []outbox.Record{record})[0]; err != nil {
		t.Fatal(err)
	}
	if d := r.Delivered(t)[0]; d.ID != record.ID || len(d.Headers) != 1 || d.Headers["X-Own"] != "kept" || string(d.Payload) != string(record.Payload) {
		t.Errorf("%+v", d)
	}
}

// An ID may have what a header has no place for.
func TestIDsThatNoHeaderTakes(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{Binary, Structured, Batched} {
		r := newReceiver(t, mode)
		record := sinktest.Record(1, "k")
		record.ID, record.Key, record.Type = "a\nb 100%", "ä\r\nX: 1", "t\x01"
		if err := newSink(t, r.cfg).Send(t.Context(), []outbox.Record{record})[0]; err != nil {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
}

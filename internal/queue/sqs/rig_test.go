package sqs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/queue/sqs"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
	"github.com/bezoar-dev/bezoar/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a handler on a real socket, over a real engine.
type rig struct {
	t       testing.TB
	engine  *queue.Engine
	url     string
	handler *sqs.Handler
	client  *http.Client
}

func newEngine(t testing.TB) *queue.Engine {
	t.Helper()
	db, err := memory.Open(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := queue.New(queue.Config{}, db.Queue())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = e.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return e
}

func newRig(t testing.TB) *rig {
	t.Helper()
	e := newEngine(t)
	h, err := sqs.New(sqs.Config{Engine: e})
	if err != nil {
		t.Fatal(err)
	}
	return newRigOver(t, e, h)
}

func newRigOver(t testing.TB, e *queue.Engine, h *sqs.Handler) *rig {
	t.Helper()
	s := httptest.NewServer(h)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		s.Close()
	})
	return &rig{t: t, engine: e, url: s.URL, handler: h, client: client}
}

// queueURL is what the server calls a queue.
func (r *rig) queueURL(name string) string { return r.url + "/000000000000/" + name }

// answer is what came back.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   string
	json   map[string]any
}

func (r *rig) do(req *http.Request) answer {
	r.t.Helper()
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer{t: r.t, status: resp.StatusCode, header: resp.Header, body: string(body)}
}

func (r *rig) jsonRequest(op, body string) *http.Request {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, r.url+"/", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "AmazonSQS."+op)
	return req
}

// json calls an operation in the JSON protocol. QUEUE:name in the body is the
// URL of a queue.
func (r *rig) json(op, body string) answer {
	r.t.Helper()
	body = strings.ReplaceAll(body, "QUEUE:", r.queueURL(""))
	a := r.do(r.jsonRequest(op, body))
	if a.body != "" {
		if err := json.Unmarshal([]byte(a.body), &a.json); err != nil {
			r.t.Fatalf("%s answered %s: %v", op, a.body, err)
		}
	}
	return a
}

// form calls an operation in the Query protocol.
func (r *rig) form(op string, members ...string) answer {
	r.t.Helper()
	form := url.Values{"Action": {op}, "Version": {"2012-11-05"}}
	for i := 0; i < len(members); i += 2 {
		form.Set(members[i], strings.ReplaceAll(members[i+1], "QUEUE:", r.queueURL("")))
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, r.url+"/", strings.NewReader(form.Encode()))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	a := r.do(req)
	if err := wellFormed(a.body); err != nil {
		r.t.Fatalf("%s answered %s: %v", op, a.body, err)
	}
	return a
}

func wellFormed(text string) error {
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// ok wants success.
func (a answer) ok() answer {
	a.t.Helper()
	if a.status != http.StatusOK {
		a.t.Fatalf("status %d: %s", a.status, a.body)
	}
	return a
}

// fails wants an error, by its name in the Query protocol.
func (a answer) fails(status int, legacy string, within ...string) answer {
	a.t.Helper()
	header := legacy + ";Sender"
	if status >= 500 {
		header = legacy + ";Receiver"
	}
	if a.status != status || a.header.Get("X-Amzn-Query-Error") != header {
		a.t.Fatalf("got %d, %q (%s), want %d %s", a.status, a.header.Get("X-Amzn-Query-Error"), a.body, status, header)
	}
	a.has(within...)
	return a
}

// has wants texts in the body.
func (a answer) has(texts ...string) answer {
	a.t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			a.t.Fatalf("%s is not in %s", text, a.body)
		}
	}
	return a
}

func (a answer) lacks(texts ...string) answer {
	a.t.Helper()
	for _, text := range texts {
		if strings.Contains(a.body, text) {
			a.t.Fatalf("%s is in %s", text, a.body)
		}
	}
	return a
}

// at follows a path of keys and indices through the JSON.
func (a answer) at(path ...any) any {
	a.t.Helper()
	var v any = a.json
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func (a answer) text(path ...any) string {
	a.t.Helper()
	s, ok := a.at(path...).(string)
	if !ok {
		a.t.Fatalf("%v is no text in %s", path, a.body)
	}
	return s
}

// between returns what is between two texts in the body.
func (a answer) between(begin, end string) string {
	a.t.Helper()
	_, rest, ok := strings.Cut(a.body, begin)
	got, _, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		a.t.Fatalf("nothing between %s and %s in %s", begin, end, a.body)
	}
	return got
}

// create makes a queue. Attributes are a JSON object.
func (r *rig) create(name string, attributes ...string) {
	r.t.Helper()
	body := `{"QueueName":"` + name + `"`
	if len(attributes) > 0 {
		body += `,"Attributes":` + attributes[0]
	}
	r.json("CreateQueue", body+"}").ok()
}

// send sends a body and returns the message's id.
func (r *rig) send(queue, body string) string {
	r.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.json("SendMessage", `{"QueueUrl":"QUEUE:`+queue+`","MessageBody":`+string(raw)+`}`).ok().text("MessageId")
}

// receive receives one message, which must be there, and returns its receipt.
func (r *rig) receive(queue string, more ...string) string {
	r.t.Helper()
	return r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:`+queue+`"`+strings.Join(more, "")+`}`).ok().text("Messages", 0, "ReceiptHandle")
}

// empty wants a receive to find nothing.
func (r *rig) empty(queue string) {
	r.t.Helper()
	if a := r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:`+queue+`","VisibilityTimeout":0}`).ok(); a.at("Messages") != nil {
		r.t.Fatalf("there are messages: %s", a.body)
	}
}

// attribute returns one attribute of a queue.
func (r *rig) attribute(queue, name string) string {
	r.t.Helper()
	a := r.json("GetQueueAttributes", `{"QueueUrl":"QUEUE:`+queue+`","AttributeNames":["`+name+`"]}`).ok()
	value, _ := a.at("Attributes", name).(string)
	return value
}

// set sets one attribute of a queue.
func (r *rig) set(queue, name, value string) answer {
	r.t.Helper()
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(map[string]any{
		"QueueUrl": r.queueURL(queue), "Attributes": map[string]string{name: value},
	}); err != nil {
		r.t.Fatal(err)
	}
	return r.json("SetQueueAttributes", b.String())
}

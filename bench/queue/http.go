package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bezoar-dev/bezoar/bench/internal/proc"
)

func bezoarHTTP(name string, json bool) Subject {
	protocol := "the Query protocol"
	if json {
		protocol = "the JSON protocol"
	}
	return Subject{
		Name: name, Settings: "bezoar serve on SQLite, synchronous=FULL; " + protocol,
		endpoint: true,
		open:     func(ctx context.Context, e *Env) (Queue, error) { return openBezoarHTTP(ctx, e, json) },
	}
}

func goawsHTTP() Subject {
	return Subject{
		Name: "goaws", Settings: "goaws 0.4.5, in memory: it keeps nothing; the Query protocol", Advice: "it has no durable mode",
		endpoint: true, open: openGoaws,
	}
}

// account is where goaws and Bezoar put queues whose caller names none.
const account = "000000000000"

// server is a process that speaks SQS.
type server struct {
	*wire
	child *proc.Child
}

func (s *server) Close() error {
	s.client.CloseIdleConnections()
	s.child.Stop()
	return nil
}

func openBezoarHTTP(ctx context.Context, e *Env, json bool) (Queue, error) {
	binary, err := e.bezoar(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := e.fresh()
	if err != nil {
		return nil, err
	}
	addrs, err := proc.FreeAddrs(2)
	if err != nil {
		return nil, err
	}
	return serve(ctx, addrs[0], json, proc.Spec{
		Name: "bezoar", Dir: dir, Leash: e.leash.End, Line: func(string) {},
		Args: []string{
			binary, "serve", "--sqs", addrs[0], "--admin", addrs[1],
			"--store", "sqlite:" + filepath.Join(dir, "bezoar.db"),
		},
	})
}

func openGoaws(ctx context.Context, e *Env) (Queue, error) {
	binary, err := e.buildGoaws(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := e.fresh()
	if err != nil {
		return nil, err
	}
	addrs, err := proc.FreeAddrs(1)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(addrs[0])
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "goaws.yaml")
	text := fmt.Sprintf("Local:\n  Host: 127.0.0.1\n  Port: %s\n  AccountId: %q\n", port, account)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return serve(ctx, addrs[0], false, proc.Spec{
		Name: "goaws", Args: []string{binary, "-config", config}, Dir: dir, Leash: e.leash.End, Line: func(string) {},
	})
}

// serve starts a server and makes the queue.
func serve(ctx context.Context, addr string, json bool, spec proc.Spec) (Queue, error) {
	child, err := proc.Start(spec)
	if err != nil {
		return nil, err
	}
	s := &server{wire: newWire("http://"+addr, json), child: child}
	err = eventually(ctx, child, func() bool {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return false
		}
		return c.Close() == nil
	})
	if err == nil {
		err = s.create(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("serve %s: %w", spec.Name, err), s.Close())
	}
	return s, nil
}

// wire is a client that costs as little as may be, as it shares the machine
// with the server: its requests are put together and its answers searched, with
// no model of either.
type wire struct {
	client *http.Client
	base   string
	json   bool
	bodies bodies
}

func newWire(base string, json bool) *wire {
	return &wire{base: base, json: json, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
}

func (w *wire) create(ctx context.Context) error {
	_, err := w.call(ctx, "CreateQueue", `{"QueueName":"bench"`, "&QueueName=bench")
	return err
}

func (w *wire) queue() string { return w.base + "/" + account + "/bench" }

// call does one operation, given the beginning of its JSON object or the end of
// its form.
func (w *wire) call(ctx context.Context, action, object, form string) ([]byte, error) {
	body, kind := "Action="+action+"&Version=2012-11-05"+form, "application/x-www-form-urlencoded"
	if w.json {
		body, kind = object+"}", "application/x-amz-json-1.0"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.base+"/", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", kind)
	if w.json {
		req.Header.Set("X-Amz-Target", "AmazonSQS."+action)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", action, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %.300s", action, resp.Status, answer)
	}
	if bytes.Contains(answer, []byte("<BatchResultErrorEntry>")) || bytes.Contains(answer, []byte(`"SenderFault"`)) {
		return nil, fmt.Errorf("%s: an entry failed: %.300s", action, answer)
	}
	return answer, nil
}

func (w *wire) Send(ctx context.Context, l Load) error {
	return share(ctx, l, batch, func(ctx context.Context, n int) error {
		object, form := w.entries(n, "SendMessageBatch", "MessageBody", func(int) string { return w.bodies.next() })
		_, err := w.call(ctx, "SendMessageBatch", object, form)
		return err
	})
}

func (w *wire) Drain(ctx context.Context, l Load) error {
	object := `{"QueueUrl":"` + w.queue() + `","MaxNumberOfMessages":10`
	form := "&MaxNumberOfMessages=10&QueueUrl=" + url.QueryEscape(w.queue())
	return drain(ctx, l, func(ctx context.Context) (int, error) {
		answer, err := w.call(ctx, "ReceiveMessage", object, form)
		if err != nil {
			return 0, err
		}
		handles := w.handles(answer)
		if len(handles) == 0 {
			return 0, nil
		}
		object, form := w.entries(len(handles), "DeleteMessageBatch", "ReceiptHandle", func(i int) string { return handles[i] })
		_, err = w.call(ctx, "DeleteMessageBatch", object, form)
		return len(handles), err
	})
}

// entries spells a batch of n in both protocols' ways. Values need no escapes
// in JSON.
func (w *wire) entries(n int, action, field string, value func(int) string) (object, form string) {
	var b strings.Builder
	if w.json {
		b.WriteString(`{"QueueUrl":"` + w.queue() + `","Entries":[`)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`{"Id":"` + strconv.Itoa(i) + `","` + field + `":"` + value(i) + `"}`)
		}
		b.WriteByte(']')
		return b.String(), ""
	}
	b.WriteString("&QueueUrl=" + url.QueryEscape(w.queue()))
	for i := range n {
		entry := "&" + action + "RequestEntry." + strconv.Itoa(i+1)
		b.WriteString(entry + ".Id=" + strconv.Itoa(i) + entry + "." + field + "=" + url.QueryEscape(value(i)))
	}
	return "", b.String()
}

// handles finds the receipt handles in an answer.
func (w *wire) handles(answer []byte) (found []string) {
	begin, end := []byte("<ReceiptHandle>"), []byte("<")
	if w.json {
		begin, end = []byte(`"ReceiptHandle":"`), []byte(`"`)
	}
	for {
		_, rest, ok := bytes.Cut(answer, begin)
		if !ok {
			return found
		}
		handle, rest, ok := bytes.Cut(rest, end)
		if !ok {
			return found
		}
		found, answer = append(found, string(handle)), rest
	}
}

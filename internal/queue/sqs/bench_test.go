package sqs_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/queue/sqs"
	"github.com/bezoar-dev/bezoar/queue"
)

// What this front costs for ten messages of 200 bytes, without the socket:
// send, receive and delete in batches, over the memory store.
func BenchmarkBatchRoundTrip(b *testing.B) {
	e := newEngine(b)
	h, err := sqs.New(sqs.Config{Engine: e})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := e.CreateQueue(context.Background(), "q", queue.DefaultSettings(), nil); err != nil {
		b.Fatal(err)
	}
	const url = `"QueueUrl":"http://localhost/000000000000/q"`
	call := func(op, body string) string {
		req := httptest.NewRequest(http.MethodPost, "http://localhost/", strings.NewReader(body))
		req.Header.Set("X-Amz-Target", "AmazonSQS."+op)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code != http.StatusOK {
			b.Fatal(w.Body.String())
		}
		return w.Body.String()
	}
	var entries []string
	for i := range 10 {
		entries = append(entries, fmt.Sprintf(`{"Id":"%d","MessageBody":"%s"}`, i, strings.Repeat("a", 200)))
	}
	send := `{` + url + `,"Entries":[` + strings.Join(entries, ",") + `]}`
	receive := `{` + url + `,"MaxNumberOfMessages":10}`
	b.ReportAllocs()
	for b.Loop() {
		call("SendMessageBatch", send)
		body := call("ReceiveMessage", receive)
		var deletes strings.Builder
		deletes.WriteString(`{` + url + `,"Entries":[`)
		for i := range 10 {
			_, rest, _ := strings.Cut(body, `"ReceiptHandle":"`)
			handle, rest, _ := strings.Cut(rest, `"`)
			body = rest
			if i > 0 {
				deletes.WriteByte(',')
			}
			fmt.Fprintf(&deletes, `{"Id":"%d","ReceiptHandle":"%s"}`, i, handle)
		}
		deletes.WriteString("]}")
		call("DeleteMessageBatch", deletes.String())
	}
}

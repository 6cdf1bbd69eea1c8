package sqs_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/queue/sqs"
	"github.com/bezoar-dev/bezoar/queue"
)

// trusting believes who a request says it is from.
type trusting struct{}

func (trusting) Verify(*http.Request, []byte, time.Time) error { return nil }

func TestAKeyMayDoWhatItsRightSays(t *testing.T) {
	e := newEngine(t)
	rights := map[string]sqs.Right{
		"PRODUCER": {Queues: []string{"orders", "report-*"}, Actions: []string{"SendMessage", "GetQueueUrl", "List*"}},
		"READER":   {Actions: []string{"Receive*"}},
		"OWNER":    {Queues: []string{"orders"}},
		"BATCHER":  {Actions: []string{"SendMessageBatch"}},
	}
	h, err := sqs.New(sqs.Config{Engine: e, Verifier: trusting{}, Rights: rights})
	if err != nil {
		t.Fatal(err)
	}
	r := newRigOver(t, e, h)
	for _, name := range []string{"orders", "report-1", "other"} {
		if _, err := e.CreateQueue(t.Context(), name, queue.DefaultSettings(), nil); err != nil {
			t.Fatal(err)
		}
	}
	call := func(key, op, body string) answer {
		req := r.jsonRequest(op, strings.ReplaceAll(body, "QUEUE:", r.queueURL("")))
		req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+key+"/20261128/us-east-1/sqs/aws4_request, SignedHeaders=host;x-amz-date, Signature="+strings.Repeat("0", 64))
		req.Header.Set("X-Amz-Date", "20261128T000000Z")
		return r.do(req)
	}
	const send, batch = `{"QueueUrl":"QUEUE:%","MessageBody":"x"}`, `{"QueueUrl":"QUEUE:%","Entries":[{"Id":"1","MessageBody":"x"}]}`
	for _, c := range []struct {
		key, op, body, queue string
		status               int
	}{
		{"PRODUCER", "SendMessage", send, "orders", 200},
		{"PRODUCER", "SendMessageBatch", batch, "report-1", 200},
		{"PRODUCER", "SendMessage", send, "other", 403},
		{"PRODUCER", "SendMessage", send, "nowhere", 403}, // nor whether it is there
		{"PRODUCER", "ReceiveMessage", `{"QueueUrl":"QUEUE:%"}`, "orders", 403},
		{"PRODUCER", "GetQueueUrl", `{"QueueName":"%"}`, "orders", 200},
		{"PRODUCER", "GetQueueUrl", `{"QueueName":"%"}`, "other", 403},
		{"READER", "ReceiveMessage", `{"QueueUrl":"QUEUE:%"}`, "other", 200},
		{"READER", "DeleteQueue", `{"QueueUrl":"QUEUE:%"}`, "other", 403},
		{"OWNER", "CreateQueue", `{"QueueName":"%"}`, "another", 403},
		{"OWNER", "StartMessageMoveTask", `{"SourceArn":"arn:aws:sqs:us-east-1:000000000000:%"}`, "orders", 403},
		{"OWNER", "StartMessageMoveTask", `{"SourceArn":"arn:aws:sqs:us-east-1:000000000000:%","QueueName":"orders"}`, "other", 403},
		{"OWNER", "ListMessageMoveTasks", `{"SourceArn":"arn:aws:sqs:us-east-1:000000000000:%","QueueName":"orders"}`, "other", 403},
		{"OWNER", "CancelMessageMoveTask", `{"TaskHandle":"eyJ0YXNrSWQiOiJ4In0=","QueueName":"orders"}`, "other", 403},
		{"BATCHER", "SendMessageBatch", batch, "other", 200},
		{"BATCHER", "SendMessage", send, "other", 403},
		{"SOMEBODY", "SendMessage", send, "other", 200},
	} {
		a := call(c.key, c.op, strings.ReplaceAll(c.body, "%", c.queue))
		if a.status != c.status || c.status == 403 && !strings.Contains(a.body, "AccessDenied") {
			t.Errorf("%s %s of %s: %d %s, want %d", c.key, c.op, c.queue, a.status, a.body, c.status)
		}
	}
	if a := r.do(r.jsonRequest("ListQueues", `{}`)); a.status != 403 {
		t.Errorf("nobody lists queues: %d %s", a.status, a.body)
	}
	if a := call("PRODUCER", "ListQueues", `{}`); strings.Contains(a.body, "other") || !strings.Contains(a.body, "report-1") {
		t.Errorf("the list is %s", a.body)
	}

	rights["READER"] = sqs.Right{Actions: []string{"RecieveMessage"}}
	if _, err := sqs.New(sqs.Config{Engine: e, Verifier: trusting{}, Rights: rights}); err == nil || !strings.Contains(err.Error(), `READER: there is no action "RecieveMessage"`) {
		t.Errorf("a wrong action: %v", err)
	}
}

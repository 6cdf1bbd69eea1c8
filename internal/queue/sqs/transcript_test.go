package sqs_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/test/golden"
)

// Both forms of everything that is answered, byte by byte but for what is new
// each time.
func TestTranscript(t *testing.T) {
	r := newRig(t)
	var out strings.Builder
	note := func(op, said string, a answer) {
		fmt.Fprintf(&out, "> %s %s\n< %d %s", op, said, a.status, a.header.Get("Content-Type"))
		if e := a.header.Get("X-Amzn-Query-Error"); e != "" {
			fmt.Fprintf(&out, " x-amzn-query-error: %s", e)
		}
		fmt.Fprintf(&out, "\n%s\n\n", a.body)
		if a.header.Get("X-Amzn-Requestid") == "" {
			t.Errorf("%s has no request id", op)
		}
	}
	receipt := ""
	json := func(op, body string) answer {
		a := r.json(op, strings.ReplaceAll(body, "RECEIPT", receipt))
		note(op, body, a)
		return a
	}
	form := func(op string, members ...string) {
		for i := range members {
			members[i] = strings.ReplaceAll(members[i], "RECEIPT", receipt)
		}
		note(op, fmt.Sprintf("%q", members), r.form(op, members...))
	}
	trace := `"MessageSystemAttributes":{"AWSTraceHeader":{"DataType":"String","StringValue":"Root=1-5759e988-bd862e3fe1be46a994272793"}}`
	typed := `"MessageAttributes":{"City":{"DataType":"String","StringValue":"Any \"City\" & <more>"},"Population":{"DataType":"Number","StringValue":"1250800"},"Raw":{"DataType":"Binary.gif","BinaryValue":"AAEC"}}`
	json("CreateQueue", `{"QueueName":"dead.fifo","Attributes":{"FifoQueue":"true"}}`)
	json("CreateQueue", `{"QueueName":"jobs.fifo","Attributes":{"FifoQueue":"true","ContentBasedDeduplication":"true","RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:dead.fifo\",\"maxReceiveCount\":5}"},"tags":{"Priority":"Highest"}}`)
	json("GetQueueAttributes", `{"QueueUrl":"QUEUE:jobs.fifo","AttributeNames":["All"]}`)
	form("GetQueueAttributes", "QueueUrl", "QUEUE:jobs.fifo", "AttributeName.1", "All")
	json("SendMessage", `{"QueueUrl":"QUEUE:jobs.fifo","MessageBody":"This is a test message","MessageGroupId":"g",`+typed+`,`+trace+`}`)
	form("SendMessage", "QueueUrl", "QUEUE:jobs.fifo", "MessageBody", "two\r\nlines é", "MessageGroupId", "h")
	json("SendMessageBatch", `{"QueueUrl":"QUEUE:jobs.fifo","Entries":[{"Id":"good","MessageBody":"x","MessageGroupId":"i"},{"Id":"bad","MessageBody":"\u0007","MessageGroupId":"i"}]}`)
	receipt = json("ReceiveMessage", `{"QueueUrl":"QUEUE:jobs.fifo","AttributeNames":["All"],"MessageAttributeNames":["All"]}`).text("Messages", 0, "ReceiptHandle")
	form("ReceiveMessage", "QueueUrl", "QUEUE:jobs.fifo", "AttributeName.1", "MessageGroupId", "MessageAttributeName.1", "All", "MaxNumberOfMessages", "10")
	form("ReceiveMessage", "QueueUrl", "QUEUE:jobs.fifo")
	json("ReceiveMessage", `{"QueueUrl":"QUEUE:jobs.fifo"}`)
	json("ChangeMessageVisibilityBatch", `{"QueueUrl":"QUEUE:jobs.fifo","Entries":[{"Id":"a","ReceiptHandle":"RECEIPT","VisibilityTimeout":60},{"Id":"b","ReceiptHandle":"garbage","VisibilityTimeout":60}]}`)
	form("ChangeMessageVisibility", "QueueUrl", "QUEUE:jobs.fifo", "ReceiptHandle", "RECEIPT", "VisibilityTimeout", "60")
	json("DeleteMessageBatch", `{"QueueUrl":"QUEUE:jobs.fifo","Entries":[{"Id":"a","ReceiptHandle":"RECEIPT"},{"Id":"b","ReceiptHandle":"garbage"}]}`)
	form("DeleteMessage", "QueueUrl", "QUEUE:jobs.fifo", "ReceiptHandle", "RECEIPT")
	json("DeleteMessage", `{"QueueUrl":"QUEUE:jobs.fifo","ReceiptHandle":"RECEIPT"}`)
	form("DeleteMessage", "QueueUrl", "QUEUE:jobs.fifo", "ReceiptHandle", "garbage")
	json("ListQueueTags", `{"QueueUrl":"QUEUE:jobs.fifo"}`)
	form("ListDeadLetterSourceQueues", "QueueUrl", "QUEUE:dead.fifo")
	json("ListDeadLetterSourceQueues", `{"QueueUrl":"QUEUE:jobs.fifo"}`)
	json("ListMessageMoveTasks", `{"SourceArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo"}`)
	json("ListQueues", `{}`)
	form("ListQueues", "QueueNamePrefix", "none")
	form("PurgeQueue", "QueueUrl", "QUEUE:none")
	form("Nonsense")
	json("DeleteQueue", `{"QueueUrl":"QUEUE:jobs.fifo"}`)
	golden.Equal(t, "transcript.txt", []byte(stable(r, out.String())))
}

// stable replaces what is new each time.
func stable(r *rig, s string) string {
	for _, c := range [][2]string{
		{regexp.QuoteMeta(strings.TrimPrefix(r.url, "http://")), "HOST"},
		{`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`, "UUID"},
		{`(ReceiptHandle(":"|>|" "))[A-Za-z0-9_-]{8,}`, "${1}HANDLE"},
		{`(Timestamp(":"|</Name><Value>))[0-9]+`, "${1}TIME"},
	} {
		s = regexp.MustCompile(c[0]).ReplaceAllString(s, c[1])
	}
	return s
}

func TestAnswersAreOfTheirProtocol(t *testing.T) {
	r := newRig(t)
	for kind, a := range map[string]answer{"application/x-amz-json-1.0": r.json("ListQueues", `{}`), "text/xml": r.form("ListQueues")} {
		if got := a.ok().header.Get("Content-Type"); got != kind {
			t.Errorf("the content type is %s, want %s", got, kind)
		}
	}
	// Chunked bodies, as some clients send them.
	req := r.jsonRequest("ListQueues", `{}`)
	req.ContentLength = -1
	r.do(req).ok()
	req = r.jsonRequest("ListQueues", `{"QueueNamePrefix":"`+strings.Repeat("a", 4<<20)+`"}`)
	req.ContentLength = -1
	if a := r.do(req); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body without end was answered %d", a.status)
	}
}

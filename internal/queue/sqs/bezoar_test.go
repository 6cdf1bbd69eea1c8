package sqs_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

func TestBezoarAttributes(t *testing.T) {
	r := newRig(t)
	r.create("q", `{"BezoarRetryStrategy":"fixed"}`)
	for _, c := range []struct{ name, set, shown, cleared string }{
		{"BezoarRetryStrategy", "equal-jitter", "equal-jitter", "full-jitter"},
		{"BezoarRetryBase", "90", "1m30s", "1s"},
		{"BezoarRetryCap", "10m", "10m0s", "5m0s"},
		{"BezoarRetryAttempts", "4", "4", "0"},
		{"BezoarRetryDeadline", "24h", "24h0m0s", "0s"},
		{"BezoarRetryBudget", "35%", "35%", "20%"},
		{"BezoarRetryBudget", "0.5", "50%", "20%"},
		{"BezoarRetryBudgetFloor", "7.5", "7.5", "3"},
		{"BezoarDownstream", "billing", "billing", ""},
		{"BezoarQuarantine", "off", "off", "on"},
		{"BezoarQuarantineAfter", "3", "3", "2"},
		{"BezoarQuarantineFor", "1m", "1m0s", "15m0s"},
		{"BezoarQuarantineMax", "48h", "48h0m0s", "24h0m0s"},
		{"BezoarQuarantineMinBytes", "100", "100", "1"},
		{"BezoarIgnore", "$.ts, $.trace.id", "$.ts,$.trace.id", ""},
		{"BezoarSchema", `{"type":"object"}`, `{"type":"object"}`, ""},
		{"BezoarValidate", "dead-letter", "dead-letter", "reject"},
		{"BezoarExpire", "dead-letter", "dead-letter", "delete"},
		{"BezoarSameAs", "search", "search", ""},
	} {
		r.set("q", c.name, c.set).ok()
		if got := r.attribute("q", c.name); got != c.shown {
			t.Errorf("%s=%s shows %q, want %q", c.name, c.set, got, c.shown)
		}
		if got := r.json("GetQueueAttributes", `{"QueueUrl":"QUEUE:q","AttributeNames":["All"]}`).ok(); got.text("Attributes", c.name) != c.shown {
			t.Errorf("%s is not among all: %s", c.name, got.body)
		}
		r.create("q", `{"`+c.name+`":`+quoted(c.set)+`}`) // the same again
		r.set("q", c.name, "").ok()
		if got := r.attribute("q", c.name); got != c.cleared {
			t.Errorf("%s cleared shows %q, want %q", c.name, got, c.cleared)
		}
	}
	r.json("GetQueueAttributes", `{"QueueUrl":"QUEUE:q","AttributeNames":["All"]}`).ok().lacks("Bezoar")
}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

func TestBezoarAttributesAreRefusedByName(t *testing.T) {
	r := newRig(t)
	r.create("q")
	r.set("q", "BezoarRetryBse", "1s").fails(400, "InvalidAttributeName", "Unknown Attribute BezoarRetryBse. Did you mean BezoarRetryBase?")
	r.set("q", "BezoarWhatever", "1s").fails(400, "InvalidAttributeName", "Unknown Attribute BezoarWhatever.").lacks("mean")
	r.json("GetQueueAttributes", `{"QueueUrl":"QUEUE:q","AttributeNames":["bezoarquarantine","BezoarQuarantne"]}`).fails(400, "InvalidAttributeName")
	for name, value := range map[string]string{
		"BezoarRetryStrategy": "often", "BezoarRetryBase": "-1s", "BezoarRetryBudget": "0%", "BezoarQuarantine": "maybe", "BezoarValidate": "later",
		"BezoarExpire": "never", "BezoarRetryAttempts": "x", "BezoarRetryBudgetFloor": "NaN",
	} {
		r.set("q", name, value).fails(400, "InvalidAttributeValue", "Invalid value for the parameter "+name)
	}
	// What only the whole makes impossible is said in the engine's words.
	r.set("q", "BezoarQuarantineAfter", "99").fails(400, "InvalidParameterValue", "Quarantine")
	if q, err := r.engine.Queue(context.Background(), "q"); err != nil || !q.Settings.Equal(queue.DefaultSettings()) {
		t.Errorf("the settings changed: %+v, %v", q.Settings, err)
	}
}

func TestBezoarPriority(t *testing.T) {
	r := newRig(t)
	r.create("q")
	r.create("q.fifo", `{"FifoQueue":"true","ContentBasedDeduplication":"true"}`)
	send := func(queue, body, priority string) answer {
		return r.json("SendMessage", `{"QueueUrl":"QUEUE:`+queue+`","MessageBody":"`+body+`","MessageGroupId":"g","MessageAttributes":{"BezoarPriority":{"DataType":"Number","StringValue":"`+priority+`"}}}`)
	}
	send("q", "low", "1").ok()
	send("q", "high", "9").ok()
	if a := r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:q","MessageAttributeNames":["All"]}`).ok(); a.text("Messages", 0, "Body") != "high" ||
		a.text("Messages", 0, "MessageAttributes", "BezoarPriority", "StringValue") != "9" {
		t.Error(a.body)
	}
	send("q", "x", "10").fails(400, "InvalidParameterValue", "BezoarPriority")
	send("q.fifo", "x", "1").fails(400, "InvalidParameterValue", "BezoarPriority")
	send("q.fifo", "x", "0").ok()
}

func TestBezoarOutcome(t *testing.T) {
	for name, report := range map[string]func(r *rig, handle string) answer{
		"in an object": func(r *rig, h string) answer {
			return r.json("ChangeMessageVisibility", `{"QueueUrl":"QUEUE:q","ReceiptHandle":"`+h+`","VisibilityTimeout":0,"BezoarOutcome":{"class":"bug","failure":"f1","reason":"why"}}`)
		},
		"in a text": func(r *rig, h string) answer {
			return r.json("ChangeMessageVisibility", `{"QueueUrl":"QUEUE:q","ReceiptHandle":"`+h+`","BezoarOutcome":"{\"class\":\"bug\",\"failure\":\"f1\",\"reason\":\"why\"}"}`)
		},
		"in a form": func(r *rig, h string) answer {
			return r.form("ChangeMessageVisibility", "QueueUrl", "QUEUE:q", "ReceiptHandle", h, "BezoarOutcome", `{"class":"bug","failure":"f1","reason":"why"}`)
		},
		"in a batch": func(r *rig, h string) answer {
			return r.json("ChangeMessageVisibilityBatch", `{"QueueUrl":"QUEUE:q","Entries":[{"Id":"a","ReceiptHandle":"`+h+`","BezoarOutcome":{"class":"bug","failure":"f1","reason":"why"}}]}`).lacks("Failed")
		},
		"in a header": func(r *rig, h string) answer {
			req := r.jsonRequest("ChangeMessageVisibility", `{"QueueUrl":"`+r.queueURL("q")+`","ReceiptHandle":"`+h+`","VisibilityTimeout":0}`)
			req.Header.Set("X-Bezoar-Outcome", `{"class":"bug","failure":"f1","reason":"why"}`)
			return r.do(req)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.create("q")
			r.send("q", "x")
			handle := r.receive("q")
			report(r, handle).ok()
			m, err := r.engine.Peek(context.Background(), "q", 0, 1)
			if err != nil || len(m) != 1 || len(m[0].Attempts) != 1 {
				t.Fatalf("peeked %+v, %v", m, err)
			}
			if o := m[0].Attempts[0].Outcome; o.Class != bezoar.Bug || o.Failure != "f1" || o.Reason != "why" {
				t.Errorf("the attempt is %+v", o)
			}
			if m[0].Attempts[0].Worker == "" {
				t.Error("the attempt names no worker")
			}
			// The handle is void.
			r.json("ChangeMessageVisibility", `{"QueueUrl":"QUEUE:q","ReceiptHandle":"`+handle+`","VisibilityTimeout":0}`).fails(400, "InvalidParameterValue")
		})
	}
}

func TestBezoarOutcomesThatMeanNothing(t *testing.T) {
	r := newRig(t)
	r.create("q")
	r.send("q", "x")
	handle := r.receive("q")
	for _, bad := range []string{`{"class":"odd"}`, `{}`, `{"class":"done"}`, `{"class":"bug","retry_after":"soon"}`, `{"class":"bug","retry_after":-1}`, `[]`, `"x"`} {
		r.json("ChangeMessageVisibility", `{"QueueUrl":"QUEUE:q","ReceiptHandle":"`+handle+`","BezoarOutcome":`+bad+`}`).fails(http.StatusBadRequest, "InvalidParameterValue", "BezoarOutcome")
	}
	r.json("ChangeMessageVisibility", `{"QueueUrl":"QUEUE:q","ReceiptHandle":"`+handle+`","VisibilityTimeout":30}`).ok() // still held
	r.json("ChangeMessageVisibility", `{"QueueUrl":"QUEUE:q","ReceiptHandle":"`+handle+`","BezoarOutcome":{"class":"throttled","retry_after":"30s"}}`).ok()
	r.empty("q")
}

// What is rejected is a letter at once, whatever its queue thinks of retries.
func TestBezoarOutcomeRejects(t *testing.T) {
	r := newRig(t)
	r.create("q")
	for _, report := range []func(h string) answer{
		func(h string) answer {
			return r.json("ChangeMessageVisibility", `{"QueueUrl":"QUEUE:q","ReceiptHandle":"`+h+`","BezoarOutcome":{"class":"invalid","reason":"why","reject":true}}`)
		},
		func(h string) answer {
			return r.json("ChangeMessageVisibilityBatch", `{"QueueUrl":"QUEUE:q","Entries":[{"Id":"a","ReceiptHandle":"`+h+`","BezoarOutcome":{"class":"invalid","reason":"why","reject":true}}]}`).lacks("Failed")
		},
	} {
		r.send("q", "a body that nobody can read")
		report(r.receive("q")).ok()
		r.empty("q")
	}
	for range 2 {
		a := r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:q-dlq","MessageSystemAttributeNames":["BezoarClass","BezoarReason"]}`).ok()
		if a.text("Messages", 0, "Attributes", "BezoarClass") != "invalid" || a.text("Messages", 0, "Attributes", "BezoarReason") != "why" {
			t.Errorf("the letter is %s", a.body)
		}
	}
}

// A part of a message becomes a letter by itself, once.
func TestBezoarParts(t *testing.T) {
	r := newRig(t)
	r.create("q")
	for range 2 {
		req := r.jsonRequest("SendMessage", `{"QueueUrl":"`+r.queueURL("q")+`","MessageBody":"row 7"}`)
		req.Header.Set("X-Bezoar-Outcome", `{"class":"invalid","reason":"no price","once":"m/7"}`)
		r.do(req).ok().has("MessageId")
	}
	r.empty("q")
	a := r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:q-dlq","MaxNumberOfMessages":10,"MessageSystemAttributeNames":["All","BezoarReason"]}`).ok()
	if a.text("Messages", 0, "Body") != "row 7" || a.text("Messages", 0, "Attributes", "BezoarReason") != "no price" || a.at("Messages", 1) != nil {
		t.Errorf("the letters are %s", a.body)
	}
	req := r.jsonRequest("SendMessage", `{"QueueUrl":"`+r.queueURL("q")+`","MessageBody":"row 8"}`)
	req.Header.Set("X-Bezoar-Outcome", `{"class":"done"}`)
	if got := r.do(req); got.status != http.StatusBadRequest {
		t.Errorf("a part that is done: %d", got.status)
	}
}

// Who receives under a name is not missed when its connection ends, and is told
// what is suspected.
func TestBezoarWorkersWithNames(t *testing.T) {
	r := newRig(t)
	r.create("q", `{"BezoarRetryStrategy":"immediate"}`)
	r.send("q", "a body that kills")
	receive := func() answer {
		req := r.jsonRequest("ReceiveMessage", `{"QueueUrl":"`+r.queueURL("q")+`","MessageSystemAttributeNames":["BezoarAlone"]}`)
		req.Header.Set("X-Bezoar-Worker", "host:1#1")
		a := r.do(req)
		if err := json.Unmarshal([]byte(a.body), &a.json); err != nil {
			t.Fatal(err)
		}
		return a
	}
	first := receive()
	if first.at("Messages", 0, "Attributes") != nil {
		t.Errorf("suspected before anything happened: %s", first.body)
	}
	r.json("ChangeMessageVisibility", `{"QueueUrl":"QUEUE:q","ReceiptHandle":"`+first.text("Messages", 0, "ReceiptHandle")+`","BezoarOutcome":{"class":"crash"}}`).ok()
	if again := receive(); again.text("Messages", 0, "Attributes", "BezoarAlone") != "true" {
		t.Errorf("a suspect comes as %s", again.body)
	}
	m, err := r.engine.Peek(context.Background(), "q", 0, 1)
	if err != nil || m[0].Attempts[0].Worker != "host:1#1" {
		t.Errorf("the attempt was of %+v, %v", m, err)
	}
}

package sqs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// The traps that SQS-compatible servers fall into, each by its name.

func TestTrapErrorsHaveTwoNames(t *testing.T) {
	r := newRig(t)
	r.create("q")
	a := r.json("SendMessage", `{"QueueUrl":"QUEUE:none","MessageBody":"x"}`).fails(400, "AWS.SimpleQueueService.NonExistentQueue")
	if a.body != `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"The specified queue does not exist."}` {
		t.Errorf("not as AWS was recorded: %s", a.body)
	}
	r.form("SendMessage", "QueueUrl", "QUEUE:none", "MessageBody", "x").fails(400, "AWS.SimpleQueueService.NonExistentQueue",
		"<Type>Sender</Type><Code>AWS.SimpleQueueService.NonExistentQueue</Code><Message>The specified queue does not exist for this wsdl version.</Message>")
	r.json("CreateQueue", `{"QueueName":"q","Attributes":{"DelaySeconds":"1"}}`).
		fails(400, "QueueAlreadyExists", `#QueueNameExists"`, "A queue already exists with the same name and a different value for attribute DelaySeconds")
	r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:q","MaxNumberOfMessages":11}`).
		fails(400, "InvalidParameterValue", `#InvalidParameterValueException"`, "Value 11 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.")
	r.json("DeleteMessage", `{"QueueUrl":"QUEUE:q","ReceiptHandle":"garbage"}`).fails(404, "ReceiptHandleIsInvalid", `#ReceiptHandleIsInvalid"`)
	r.json("StartMessageMoveTask", `{"SourceArn":"arn:aws:sqs:us-east-1:000000000000:none"}`).
		fails(404, "ResourceNotFoundException", "The resource that you specified for the SourceArn parameter doesn't exist.")
	r.json("SendMessage", `{"QueueUrl":"QUEUE:q"}`).fails(400, "MissingParameter", `#MissingRequiredParameterException"`, "The request must contain the parameter MessageBody.")
}

func TestTrapTheQueueIsLookedForFirst(t *testing.T) {
	r := newRig(t)
	r.json("SendMessageBatch", `{"QueueUrl":"https://us-east-2.amazonaws.com/456752665576/none","Entries":[{"Id":"0","MessageBody":""}]}`).
		fails(400, "AWS.SimpleQueueService.NonExistentQueue")
}

func TestTrapBatchErrors(t *testing.T) {
	r := newRig(t)
	r.create("q")
	entries := func(n int, entry string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(entry, i)
		}
		return `{"QueueUrl":"QUEUE:q","Entries":[` + strings.Join(list, ",") + `]}`
	}
	for _, op := range []string{"SendMessageBatch", "DeleteMessageBatch", "ChangeMessageVisibilityBatch"} {
		r.json(op, `{"QueueUrl":"QUEUE:q","Entries":[]}`).fails(400, "AWS.SimpleQueueService.EmptyBatchRequest", `#EmptyBatchRequest"`, op+"RequestEntry in the request")
		r.json(op, entries(11, `{"Id":"%d","MessageBody":"x"}`)).
			fails(400, "AWS.SimpleQueueService.TooManyEntriesInBatchRequest", "Maximum number of entries per request are 10. You have sent 11.")
		r.json(op, `{"QueueUrl":"QUEUE:q","Entries":[{"Id":"a:b","MessageBody":"x"}]}`).fails(400, "AWS.SimpleQueueService.InvalidBatchEntryId")
		r.json(op, `{"QueueUrl":"QUEUE:q","Entries":[{"Id":"`+strings.Repeat("a", 81)+`","MessageBody":"x"}]}`).fails(400, "AWS.SimpleQueueService.InvalidBatchEntryId")
		r.json(op, `{"QueueUrl":"QUEUE:q","Entries":[{"Id":"a","MessageBody":"x"},{"Id":"a","MessageBody":"y"}]}`).
			fails(400, "AWS.SimpleQueueService.BatchEntryIdsNotDistinct", "Id a repeated.")
	}
	half := strings.Repeat("a", 1<<19)
	r.json("SendMessageBatch", `{"QueueUrl":"QUEUE:q","Entries":[{"Id":"a","MessageBody":"`+half+`"},{"Id":"b","MessageBody":"`+half+`x"}]}`).
		fails(400, "AWS.SimpleQueueService.BatchRequestTooLong", "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.")
	r.json("SendMessageBatch", `{"QueueUrl":"QUEUE:q","Entries":[{"Id":"a","MessageBody":"`+half+`"},{"Id":"b","MessageBody":"`+half+`"}]}`).ok().lacks("Failed")
}

func TestTrapEachBatchEntryHasItsOwnFault(t *testing.T) {
	r := newRig(t)
	r.create("q")
	a := r.json("SendMessageBatch", `{"QueueUrl":"QUEUE:q","Entries":[{"Id":"bad","MessageBody":"\u0001"},{"Id":"good","MessageBody":"x"},{"Id":"none"},{"Id":"late","MessageBody":"x","DelaySeconds":901}]}`).ok()
	if a.text("Successful", 0, "Id") != "good" || a.at("Successful", 1) != nil {
		t.Fatal(a.body)
	}
	for i, code := range []string{"InvalidMessageContents", "MissingParameter", "InvalidParameterValue"} {
		if a.text("Failed", i, "Code") != code || a.at("Failed", i, "SenderFault") != true {
			t.Errorf("fault %d is not %s: %s", i, code, a.body)
		}
	}
	r.form("SendMessageBatch", "QueueUrl", "QUEUE:q", "SendMessageBatchRequestEntry.1.Id", "bad", "SendMessageBatchRequestEntry.1.MessageBody", "\x01").ok().
		has("<BatchResultErrorEntry><Code>InvalidMessageContents</Code><Id>bad</Id>", "<SenderFault>true</SenderFault>")
}

// Figures of LocalStack's recordings of AWS, and of AWS's own examples.
func TestTrapDigests(t *testing.T) {
	r := newRig(t)
	r.create("q")
	sent := r.json("SendMessage", `{"QueueUrl":"QUEUE:q","MessageBody":"msg","MessageAttributes":{
		"Help.Me":{"DataType":"String","StringValue":"Me"},"Hello":{"DataType":"String","StringValue":"There"},"General":{"DataType":"String","StringValue":"Kenobi"}}}`).ok()
	if got := sent.text("MD5OfMessageAttributes"); got != "4c360f3fdafd970e05fae2f149d997f5" {
		t.Errorf("the digest of three attributes is %s", got)
	}
	for filter, want := range map[string]string{
		`[]`: "", `["All"]`: "4c360f3fdafd970e05fae2f149d997f5", `[".*"]`: "4c360f3fdafd970e05fae2f149d997f5",
		`["Hello","General"]`: "fca026605781cb4126a1e9044df24232", `["Hello","Foo"]`: "a311262e065454b75da111d535b8dacd",
		`["Hel.*"]`: "83fee93c1bcd8b9a5a923ffacdc636c7", `["Foo","Help"]`: "",
	} {
		a := r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:q","VisibilityTimeout":0,"MessageAttributeNames":`+filter+`}`).ok()
		if got, _ := a.at("Messages", 0, "MD5OfMessageAttributes").(string); got != want {
			t.Errorf("filter %s: digest %q, want %q", filter, got, want)
		}
		if want == "" {
			a.lacks("MessageAttributes") // not even empty
		}
	}
	r.create("b")
	binary := `{"QueueUrl":"QUEUE:b","MessageBody":"test","MessageAttributes":{"attr1":{"DataType":"Binary","BinaryValue":"dHJhY2VwYXJlbnQeMDAtNzc0MDYyZDZjMzcwODFhNWEwYjliNWI4OGUzMDYyN2MtMmQyNDgyMjExZjY0ODlkYS0wMQ=="}}}`
	if got := r.json("SendMessage", binary).ok().text("MD5OfMessageAttributes"); got != "8cbe4db156db8a94db8b801b7addb984" {
		t.Errorf("the digest of a binary attribute is %s", got)
	}
	r.form("ReceiveMessage", "QueueUrl", "QUEUE:b", "MessageAttributeName.1", "All").ok().
		has("<MD5OfMessageAttributes>8cbe4db156db8a94db8b801b7addb984<", "<Name>attr1</Name><Value><BinaryValue>dHJhY2Vw", "<DataType>Binary</DataType></Value>")
}

func TestTrapDigestsCoverTheWholeType(t *testing.T) {
	r := newRig(t)
	r.create("q")
	digest := func(kind string) string {
		return r.json("SendMessage", `{"QueueUrl":"QUEUE:q","MessageBody":"x","MessageAttributes":{"n":{"DataType":"`+kind+`","StringValue":"1"}}}`).ok().text("MD5OfMessageAttributes")
	}
	if digest("Number") == digest("Number.int") {
		t.Error("the label of a type is not in the digest")
	}
}

func TestTrapSystemAttributesHaveTheirOwnDigest(t *testing.T) {
	r := newRig(t)
	r.create("q")
	trace := `{"AWSTraceHeader":{"DataType":"String","StringValue":"Root=1-5759e988-bd862e3fe1be46a994272793"}}`
	a := r.json("SendMessage", `{"QueueUrl":"QUEUE:q","MessageBody":"x","MessageSystemAttributes":`+trace+`}`).ok().lacks("MD5OfMessageAttributes")
	b := r.json("SendMessage", `{"QueueUrl":"QUEUE:q","MessageBody":"x","MessageAttributes":`+strings.ReplaceAll(trace, "AWSTraceHeader", "Trace")+`}`).ok().lacks("MD5OfMessageSystemAttributes")
	if len(a.text("MD5OfMessageSystemAttributes")) != 32 || len(b.text("MD5OfMessageAttributes")) != 32 {
		t.Error(a.body, b.body)
	}
	r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:q","MessageSystemAttributeNames":["AWSTraceHeader"]}`).ok().has(`"AWSTraceHeader":"Root=1-5759e988-bd862e3fe1be46a994272793"`)
	r.json("SendMessage", `{"QueueUrl":"QUEUE:q","MessageBody":"x","MessageSystemAttributes":{"Other":{"DataType":"String","StringValue":"x"}}}`).fails(400, "InvalidParameterValue")
}

func TestTrapBatchesHaveDigestsOfAttributesToo(t *testing.T) {
	r := newRig(t)
	r.create("q")
	a := r.json("SendMessageBatch", `{"QueueUrl":"QUEUE:q","Entries":[{"Id":"1","MessageBody":"a","MessageAttributes":{"Hello":{"DataType":"String","StringValue":"There"}}},{"Id":"2","MessageBody":"b"}]}`).ok()
	if a.text("Successful", 0, "MD5OfMessageAttributes") != "a311262e065454b75da111d535b8dacd" || a.at("Successful", 1, "MD5OfMessageAttributes") != nil {
		t.Error(a.body)
	}
}

func TestTrapAnEmptyReceiveHasNoMessages(t *testing.T) {
	r := newRig(t)
	r.create("q")
	if a := r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:q"}`).ok(); a.body != `{}` {
		t.Error(a.body)
	}
	r.form("ReceiveMessage", "QueueUrl", "QUEUE:q").ok().has("<ReceiveMessageResult></ReceiveMessageResult>")
}

func TestTrapBothListsOfSystemAttributes(t *testing.T) {
	r := newRig(t)
	r.create("q")
	r.send("q", "x")
	for member, names := range map[string]string{"AttributeNames": `["All"]`, "MessageSystemAttributeNames": `["All"]`} {
		a := r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:q","VisibilityTimeout":0,"`+member+`":`+names+`}`).ok()
		for _, name := range []string{"SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp"} {
			if a.text("Messages", 0, "Attributes", name) == "" {
				t.Errorf("%s: no %s", member, name)
			}
		}
		a.lacks("SequenceNumber", "MessageDeduplicationId", "MessageGroupId", "DeadLetterQueueSourceArn")
	}
	a := r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:q","VisibilityTimeout":0,"AttributeNames":["SenderId"],"MessageSystemAttributeNames":["ApproximateReceiveCount"]}`).ok()
	if got := a.at("Messages", 0, "Attributes").(map[string]any); len(got) != 2 || got["ApproximateReceiveCount"] != "3" {
		t.Errorf("got %v", got)
	}
	r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:q","VisibilityTimeout":0,"AttributeNames":["SequenceNumber"]}`).ok().lacks("Attributes")
}

func TestTrapAnOldHandleDeletesInAStandardQueue(t *testing.T) {
	r := newRig(t)
	r.create("q")
	r.send("q", "x")
	old := r.receive("q", `,"VisibilityTimeout":0`) // over at once
	next := r.receive("q")
	if old == next {
		t.Fatal("the same handle twice")
	}
	r.json("DeleteMessage", `{"QueueUrl":"QUEUE:q","ReceiptHandle":"`+old+`"}`).ok() // says so, and does nothing
	for range 2 {                                                                    // also what is gone
		r.json("DeleteMessage", `{"QueueUrl":"QUEUE:q","ReceiptHandle":"`+next+`"}`).ok()
	}
	r.send("q", "y")
	expired := r.receive("q", `,"VisibilityTimeout":0`)
	r.json("DeleteMessage", `{"QueueUrl":"QUEUE:q","ReceiptHandle":"`+expired+`"}`).ok()
	r.empty("q")
	r.json("DeleteMessage", `{"QueueUrl":"QUEUE:q"}`).fails(400, "MissingParameter", "ReceiptHandle")
}

func TestTrapAnOldHandleOfAFIFOQueueHasExpired(t *testing.T) {
	r := newRig(t)
	r.create("q.fifo", `{"FifoQueue":"true"}`)
	r.json("SendMessage", `{"QueueUrl":"QUEUE:q.fifo","MessageBody":"x","MessageGroupId":"g","MessageDeduplicationId":"d"}`).ok()
	old := r.receive("q.fifo", `,"VisibilityTimeout":0`)
	const why = "for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired."
	r.json("DeleteMessage", `{"QueueUrl":"QUEUE:q.fifo","ReceiptHandle":"`+old+`"}`).fails(400, "InvalidParameterValue", old, why)
	r.json("DeleteMessageBatch", `{"QueueUrl":"QUEUE:q.fifo","Entries":[{"Id":"a","ReceiptHandle":"`+old+`"},{"Id":"b","ReceiptHandle":"x"}]}`).ok().
		has(`"Code":"InvalidParameterValue","Id":"a"`, why, `"Code":"ReceiptHandleIsInvalid","Id":"b"`)
}

func TestTrapVisibilityAfterTheEnd(t *testing.T) {
	r := newRig(t)
	r.create("q")
	r.send("q", "x")
	handle := r.receive("q", `,"VisibilityTimeout":0`)
	change := `{"QueueUrl":"QUEUE:q","ReceiptHandle":"` + handle + `","VisibilityTimeout":30}`
	r.json("ChangeMessageVisibility", change).ok() // after the lease
	if again := r.receive("q", `,"VisibilityTimeout":0`); again == "" {
		t.Error("it is not visible any more")
	} else {
		handle, change = again, strings.ReplaceAll(change, handle, again)
	}
	r.json("DeleteMessage", `{"QueueUrl":"QUEUE:q","ReceiptHandle":"`+handle+`"}`).ok()
	const why = "Message does not exist or is not available for visibility timeout change"
	r.json("ChangeMessageVisibility", change).fails(400, "InvalidParameterValue", why+".")
	a := r.json("ChangeMessageVisibilityBatch", `{"QueueUrl":"QUEUE:q","Entries":[{"Id":"0","ReceiptHandle":"`+handle+`","VisibilityTimeout":1}]}`).ok()
	if a.body != `{"Failed":[{"Code":"ReceiptHandleIsInvalid","Id":"0","Message":"`+why+`","SenderFault":true}]}` {
		t.Errorf("not as AWS was recorded: %s", a.body)
	}
	r.json("ChangeMessageVisibility", strings.ReplaceAll(change, handle, "garbage")).fails(404, "ReceiptHandleIsInvalid")
}

func TestTrapVisibilityIsBoundedInTotal(t *testing.T) {
	r := newRig(t)
	r.create("q")
	r.send("q", "x")
	handle := r.receive("q")
	change := func(seconds string) answer {
		return r.json("ChangeMessageVisibility", `{"QueueUrl":"QUEUE:q","ReceiptHandle":"`+handle+`","VisibilityTimeout":`+seconds+`}`)
	}
	change("43201").fails(400, "InvalidParameterValue")
	change("43200").fails(400, "InvalidParameterValue", "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]")
	change("43100").ok()
	change("-1").fails(400, "InvalidParameterValue")
}

func TestTrapLongPollWakesUp(t *testing.T) {
	for name, wake := range map[string]func(r *rig, handle string){
		"by a send": func(r *rig, _ string) { r.send("q", "y") },
		"by visibility 0": func(r *rig, h string) {
			r.json("ChangeMessageVisibility", `{"QueueUrl":"QUEUE:q","ReceiptHandle":"`+h+`","VisibilityTimeout":0}`).ok()
		},
		"by the end of a delay": func(r *rig, _ string) {
			r.json("SendMessage", `{"QueueUrl":"QUEUE:q","MessageBody":"z","DelaySeconds":1}`).ok()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.create("q")
			r.send("q", "x")
			handle := r.receive("q")
			got := make(chan answer, 1)
			began := time.Now()
			go func() {
				got <- r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:q","WaitTimeSeconds":20,"MaxNumberOfMessages":10}`)
			}()
			wake(r, handle)
			if a := <-got; a.at("Messages", 0) == nil {
				t.Error("nothing was received: ", a.body)
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestTrapLimits(t *testing.T) {
	r := newRig(t)
	r.create("q")
	most := strings.Repeat("a", 1<<20)
	r.json("SendMessage", `{"QueueUrl":"QUEUE:q","MessageBody":"`+most+`"}`).ok()
	r.json("SendMessage", `{"QueueUrl":"QUEUE:q","MessageBody":"`+most+`a"}`).
		fails(400, "InvalidParameterValue", "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.")
	// Letters beyond ASCII take three bytes for one in a form and under escapes.
	r.form("SendMessage", "QueueUrl", "QUEUE:q", "MessageBody", strings.Repeat("ж", 1<<19)).ok()
	r.json("SendMessage", `{"QueueUrl":"QUEUE:q","MessageBody":"`+strings.Repeat(`\u0436`, 1<<19)+`"}`).ok()
	r.json("SendMessage", `{"QueueUrl":"QUEUE:q","MessageBody":"`+strings.Repeat("a", 4<<20)+`"}`).fails(413, "RequestEntityTooLarge")
	for member, values := range map[string][]string{"DelaySeconds": {"-1", "901"}, "MessageBody": {`""`, `"\ud800"`}} {
		for _, v := range values {
			body := `{"QueueUrl":"QUEUE:q","MessageBody":"x","` + member + `":` + v + `}`
			if a := r.json("SendMessage", body); a.status != 400 {
				t.Errorf("%s was answered %d", body, a.status)
			}
		}
	}
	for member, value := range map[string]string{"WaitTimeSeconds": "21", "VisibilityTimeout": "43201", "MaxNumberOfMessages": "0"} {
		r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:q","`+member+`":`+value+`}`).fails(400, "InvalidParameterValue", member)
	}
}

func TestTrapCharacters(t *testing.T) {
	r := newRig(t)
	r.create("q")
	for body, legal := range map[string]bool{
		`a\u0009\u000a\u000d `: true, `\ud83d\ude00\ue000\ufffd`: true, `\u0000`: false, `\u001f`: false, `\ufffe`: false, `\uffff`: false,
	} {
		a := r.json("SendMessage", `{"QueueUrl":"QUEUE:q","MessageBody":"`+body+`"}`)
		if legal {
			a.ok()
		} else {
			a.fails(400, "InvalidMessageContents")
		}
	}
	r.form("SendMessage", "QueueUrl", "QUEUE:q", "MessageBody", "a\xff").fails(400, "InvalidMessageContents")
}

func TestTrapRedrivePolicy(t *testing.T) {
	r := newRig(t)
	r.create("dead")
	r.create("dead.fifo", `{"FifoQueue":"true"}`)
	r.create("q")
	const arn = "arn:aws:sqs:us-east-1:000000000000:dead"
	for _, count := range []string{`3`, `"3"`} {
		r.set("q", "RedrivePolicy", `{"deadLetterTargetArn":"`+arn+`","maxReceiveCount":`+count+`}`).ok()
		if got := r.attribute("q", "RedrivePolicy"); got != `{"deadLetterTargetArn":"`+arn+`","maxReceiveCount":3}` {
			t.Errorf("the policy is %s", got)
		}
	}
	r.set("q", "RedrivePolicy", "").ok()
	if got := r.attribute("q", "RedrivePolicy"); got != "" {
		t.Errorf("the policy was not cleared: %s", got)
	}
	for policy, why := range map[string]string{
		`{"deadLetterTargetArn":"` + arn + `"}`:                          "mandatory attribute: maxReceiveCount",
		`{"maxReceiveCount":3}`:                                          "mandatory attribute: deadLetterTargetArn",
		`{"deadLetterTargetArn":"dummy","maxReceiveCount":42}`:           "Invalid value for deadLetterTargetArn.",
		`{"deadLetterTargetArn":"` + arn + `x","maxReceiveCount":3}`:     "Dead letter target does not exist.",
		`{"deadLetterTargetArn":"` + arn + `.fifo","maxReceiveCount":3}`: "same type of queue",
		`{"deadLetterTargetArn":"` + arn + `","maxReceiveCount":0}`:      "Invalid value for maxReceiveCount",
		`{"deadLetterTargetArn":"` + arn + `","maxReceiveCount":"1001"}`: "Invalid value for maxReceiveCount",
		`{"deadLetterTargetArn":"` + arn + `","maxReceiveCount":"many"}`: "not an integer",
		`not json`: "not a valid JSON map",
	} {
		r.set("q", "RedrivePolicy", policy).fails(400, "InvalidParameterValue", why)
	}
}

func TestTrapRedriveAllowPolicy(t *testing.T) {
	r := newRig(t)
	r.create("dead")
	r.create("other")
	r.create("q")
	policy := `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":3}`
	r.set("dead", "RedriveAllowPolicy", `{"redrivePermission":"denyAll"}`).ok()
	r.set("q", "RedrivePolicy", policy).fails(400, "InvalidParameterValue")
	named := `{"redrivePermission":"byQueue","sourceQueueArns":["arn:aws:sqs:us-east-1:000000000000:q"]}`
	r.set("dead", "RedriveAllowPolicy", named).ok()
	if got := r.attribute("dead", "RedriveAllowPolicy"); got != named {
		t.Errorf("the policy is %s", got)
	}
	r.set("q", "RedrivePolicy", policy).ok()
	r.set("other", "RedrivePolicy", policy).fails(400, "InvalidParameterValue")
	r.set("dead", "RedriveAllowPolicy", `{"redrivePermission":"byQueue"}`).fails(400, "InvalidParameterValue")
	r.set("dead", "RedriveAllowPolicy", `{"redrivePermission":"some"}`).fails(400, "InvalidParameterValue")
}

func TestTrapDeadLettersSayWhenceTheyCame(t *testing.T) {
	r := newRig(t)
	r.create("dead")
	r.create("q", `{"RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:dead\",\"maxReceiveCount\":1}"}`)
	id := r.send("q", "x")
	handle := r.receive("q", `,"VisibilityTimeout":1`)
	// It is moved at the end of the lease; nobody has to receive.
	a := r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:dead","WaitTimeSeconds":10,"AttributeNames":["All"],"MessageSystemAttributeNames":["BezoarClass"]}`).ok()
	if n := a.text("Messages", 0, "Attributes", "ApproximateReceiveCount"); n != "2" {
		t.Errorf("it was received %s times in both queues, want 2", n)
	}
	if a.text("Messages", 0, "MessageId") != id || a.text("Messages", 0, "Attributes", "DeadLetterQueueSourceArn") != "arn:aws:sqs:us-east-1:000000000000:q" {
		t.Error(a.body)
	}
	if a.text("Messages", 0, "Attributes", "BezoarClass") == "" {
		t.Error("no class")
	}
	r.json("ChangeMessageVisibility", `{"QueueUrl":"QUEUE:q","ReceiptHandle":"`+handle+`","VisibilityTimeout":1}`).fails(400, "InvalidParameterValue")
}

func TestTrapOneMoveTaskAtATime(t *testing.T) {
	r := newRig(t)
	r.create("dead")
	const arn = "arn:aws:sqs:us-east-1:000000000000:dead"
	start := `{"SourceArn":"` + arn + `","DestinationArn":"` + strings.Replace(arn, "dead", "q", 1) + `","MaxNumberOfMessagesPerSecond":1}`
	r.json("StartMessageMoveTask", `{"SourceArn":"`+arn+`"}`).fails(400, "InvalidParameterValue", "Source queue must be configured as a Dead Letter Queue.")
	r.create("q", `{"RedrivePolicy":"{\"deadLetterTargetArn\":\"`+arn+`\",\"maxReceiveCount\":1}"}`)
	for range 5 {
		r.send("dead", "x")
	}
	r.json("StartMessageMoveTask", start).ok()
	r.json("StartMessageMoveTask", start).fails(400, "InvalidParameterValue", "There is already a task running.")
	r.json("StartMessageMoveTask", strings.Replace(start, ":q", ":none", 1)).fails(404, "ResourceNotFoundException", "DestinationArn parameter doesn't exist")
	r.json("DeleteQueue", `{"QueueUrl":"QUEUE:q"}`).ok()
	within(t, func() bool {
		a := r.json("ListMessageMoveTasks", `{"SourceArn":"`+arn+`"}`).ok()
		return a.text("Results", 0, "Status") == "FAILED" && a.text("Results", 0, "FailureReason") == "AWS.SimpleQueueService.NonExistentQueue" &&
			a.at("Results", 0, "TaskHandle") == nil
	})
	r.json("CancelMessageMoveTask", `{"TaskHandle":"x"}`).fails(400, "InvalidParameterValue", "Value for parameter TaskHandle is invalid.")
	r.json("CancelMessageMoveTask", `{"TaskHandle":"eyJ0YXNrSWQiOiJ4Iiwic291cmNlQXJuIjoiYXJuOmF3czpzcXM6dXMtZWFzdC0xOjAwMDAwMDAwMDAwMDpkZWFkIn0="}`).
		fails(404, "ResourceNotFoundException", "Task does not exist.")
}

func TestTrapFIFO(t *testing.T) {
	r := newRig(t)
	r.json("CreateQueue", `{"QueueName":"q.fifo"}`).fails(400, "InvalidParameterValue")
	r.json("CreateQueue", `{"QueueName":"q","Attributes":{"FifoQueue":"true"}}`).fails(400, "InvalidParameterValue", "must end with .fifo suffix")
	r.json("CreateQueue", `{"QueueName":"q","Attributes":{"FifoQueue":"false"}}`).fails(400, "InvalidAttributeName", "Unknown Attribute FifoQueue.")
	r.create("q.fifo", `{"FifoQueue":"true"}`)
	send := func(more string) answer {
		return r.json("SendMessage", `{"QueueUrl":"QUEUE:q.fifo","MessageBody":"x"`+more+`}`)
	}
	send(`,"MessageDeduplicationId":"d"`).fails(400, "MissingParameter", "The request must contain the parameter MessageGroupId.")
	send(`,"MessageGroupId":"g"`).fails(400, "InvalidParameterValue", "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly")
	send(`,"MessageGroupId":"g","MessageDeduplicationId":"d","DelaySeconds":2`).
		fails(400, "InvalidParameterValue", "Value 2 for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid for this queue type.")
	send(`,"MessageGroupId":"a b","MessageDeduplicationId":"d"`).fails(400, "InvalidParameterValue", "MessageGroupId")
	r.json("SendMessageBatch", `{"QueueUrl":"QUEUE:q.fifo","Entries":[{"Id":"a","MessageBody":"x","MessageDeduplicationId":"d"}]}`).
		fails(400, "InvalidParameterValue", "The request must contain the parameter MessageGroupId.") // the whole batch, on AWS
	first := send(`,"MessageGroupId":"g","MessageDeduplicationId":"d","DelaySeconds":0`).ok()
	if n := first.text("SequenceNumber"); len(n) != 20 {
		t.Errorf("the sequence number %q has not 20 digits", n)
	}
	again := send(`,"MessageGroupId":"g","MessageDeduplicationId":"d"`).ok()
	if again.text("MessageId") != first.text("MessageId") || again.text("SequenceNumber") != first.text("SequenceNumber") {
		t.Error("a duplicate is not acknowledged as the first one")
	}
	a := r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:q.fifo","AttributeNames":["All"]}`).ok()
	for name, want := range map[string]string{"MessageGroupId": "g", "MessageDeduplicationId": "d", "SequenceNumber": first.text("SequenceNumber")} {
		if got := a.text("Messages", 0, "Attributes", name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	send(`,"MessageGroupId":"g","MessageDeduplicationId":"d2"`).ok()
	r.empty("q.fifo") // the group is locked
	r.json("DeleteMessage", `{"QueueUrl":"QUEUE:q.fifo","ReceiptHandle":"`+a.text("Messages", 0, "ReceiptHandle")+`"}`).ok()
	r.receive("q.fifo")
	r.set("q.fifo", "FifoQueue", "false").fails(400, "InvalidAttributeValue", "Modifying queue type is not supported.")
	r.set("q.fifo", "DeduplicationScope", "messageGroup").ok()
	if got := r.attribute("q.fifo", "FifoThroughputLimit"); got != "perQueue" {
		t.Errorf("FifoThroughputLimit is %q", got)
	}
}

func TestTrapGroupsOfAStandardQueue(t *testing.T) {
	r := newRig(t)
	r.create("q")
	r.json("SendMessage", `{"QueueUrl":"QUEUE:q","MessageBody":"x","MessageGroupId":"tenant"}`).ok().lacks("SequenceNumber")
	r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:q","AttributeNames":["All"]}`).ok().has(`"MessageGroupId":"tenant"`)
	r.json("SendMessage", `{"QueueUrl":"QUEUE:q","MessageBody":"x","MessageDeduplicationId":"d"}`).fails(400, "InvalidParameterValue")
	r.set("q", "ContentBasedDeduplication", "true").fails(400, "InvalidAttributeName", "Unknown Attribute ContentBasedDeduplication.")
}

func TestTrapReceiveRequestAttemptID(t *testing.T) {
	r := newRig(t)
	r.create("q.fifo", `{"FifoQueue":"true","ContentBasedDeduplication":"true"}`)
	for i := range 3 {
		r.json("SendMessage", fmt.Sprintf(`{"QueueUrl":"QUEUE:q.fifo","MessageBody":"%d","MessageGroupId":"g"}`, i)).ok()
	}
	receive := func(id string) answer {
		return r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:q.fifo","MaxNumberOfMessages":2,"ReceiveRequestAttemptId":"`+id+`"}`).ok()
	}
	first := receive("a")
	if again := receive("a"); again.body != first.body {
		t.Errorf("got %s, then %s", first.body, again.body)
	}
	if other := receive("b"); other.at("Messages") != nil {
		t.Errorf("another attempt got %s", other.body)
	}
	for i := range 2 {
		r.json("DeleteMessage", `{"QueueUrl":"QUEUE:q.fifo","ReceiptHandle":"`+first.text("Messages", i, "ReceiptHandle")+`"}`).ok()
	}
	if next := receive("a"); next.text("Messages", 0, "Body") != "2" {
		t.Errorf("after the deletion: %s", next.body)
	}
	r.create("q")
	r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:q","ReceiveRequestAttemptId":"a"}`).fails(400, "InvalidParameterValue")
}

func TestTrapPurgeOncePerMinute(t *testing.T) {
	r := newRig(t)
	r.create("q")
	r.send("q", "x")
	r.json("PurgeQueue", `{"QueueUrl":"QUEUE:q"}`).ok()
	r.empty("q")
	r.json("PurgeQueue", `{"QueueUrl":"QUEUE:q"}`).fails(403, "AWS.SimpleQueueService.PurgeQueueInProgress", "Only one PurgeQueue operation on q is allowed every 60 seconds.")
	r.json("DeleteQueue", `{"QueueUrl":"QUEUE:q"}`).ok()
	r.create("q") // at once, and with a clean record
	r.json("PurgeQueue", `{"QueueUrl":"QUEUE:q"}`).ok()
}

func TestTrapCreateQueueAgain(t *testing.T) {
	r := newRig(t)
	r.create("dead")
	r.create("q", `{"VisibilityTimeout":"20","RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:eu-west-1:1:dead\",\"maxReceiveCount\":\"3\"}"}`)
	r.create("q") // none given: none compared
	r.create("q", `{"VisibilityTimeout":"20","MessageRetentionPeriod":"345600"}`)
	r.create("q", `{"RedrivePolicy":"{\"maxReceiveCount\": 3, \"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:dead\"}","RedriveAllowPolicy":"","SqsManagedSseEnabled":"false"}`)
	r.json("CreateQueue", `{"QueueName":"q","Attributes":{"VisibilityTimeout":"21"}}`).fails(400, "QueueAlreadyExists", "attribute VisibilityTimeout")
	r.json("CreateQueue", `{"QueueName":"x","Attributes":{"Foo":"1"}}`).fails(400, "InvalidAttributeName", "Unknown Attribute Foo.")
	r.json("CreateQueue", `{"QueueName":"x","Attributes":{"VisibilityTimeout":"-1"}}`).fails(400, "InvalidAttributeValue", "Invalid value for the parameter VisibilityTimeout.")
	r.json("CreateQueue", `{"QueueName":"a b"}`).fails(400, "InvalidParameterValue", "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	r.json("CreateQueue", `{"QueueName":".trash"}`).fails(400, "InvalidParameterValue")
}

func TestTrapQueueURLFromHost(t *testing.T) {
	r := newRig(t)
	req := r.jsonRequest("CreateQueue", `{"QueueName":"q"}`)
	req.Host = "queues.localhost:4711"
	if a := r.do(req).ok(); a.body != `{"QueueUrl":"http://queues.localhost:4711/000000000000/q"}` {
		t.Error(a.body)
	}
	// A queue is also called at its own URL, without naming it again.
	post, err := http.NewRequestWithContext(context.Background(), http.MethodPost, r.queueURL("q"), strings.NewReader("Action=SendMessage&MessageBody=x"))
	if err != nil {
		t.Fatal(err)
	}
	r.do(post).ok().has("<SendMessageResult>")
	get, err := http.NewRequestWithContext(context.Background(), http.MethodGet, r.queueURL("q")+"?Action=ReceiveMessage", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.do(get).ok().has("<Body>x</Body>")
	r.json("SendMessage", `{"QueueUrl":"q","MessageBody":"x"}`).fails(404, "InvalidAddress", "The address q is not valid for this endpoint.")
	r.json("SendMessage", `{"MessageBody":"x"}`).fails(400, "MissingParameter", "QueueUrl")
}

func TestTrapRegionFromTheSignature(t *testing.T) {
	r := newRig(t)
	r.create("q")
	r.send("q", "x")
	ask := func(change func(*http.Request)) answer {
		req := r.jsonRequest("GetQueueAttributes", `{"QueueUrl":"`+r.queueURL("q")+`","AttributeNames":["QueueArn"]}`)
		change(req)
		return r.do(req).ok()
	}
	sign := func(region string) func(*http.Request) {
		return func(req *http.Request) {
			req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/"+region+"/sqs/aws4_request, SignedHeaders=host, Signature=00")
		}
	}
	ask(sign("eu-west-3")).has("arn:aws:sqs:eu-west-3:000000000000:q")
	ask(sign(`x"y`)).has("arn:aws:sqs:us-east-1:000000000000:q")
	ask(func(req *http.Request) {
		req.URL.RawQuery = url.Values{"X-Amz-Credential": {"AKID/20260101/us-west-2/sqs/aws4_request"}}.Encode()
	}).has("arn:aws:sqs:us-west-2:000000000000:q")
	req := r.jsonRequest("SendMessage", `{"QueueUrl":"`+r.queueURL("q")+`","MessageBody":"y"}`)
	sign("us-east-1")(req)
	r.do(req).ok()
	r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:q","MaxNumberOfMessages":10,"AttributeNames":["SenderId"]}`).ok().
		has(`"SenderId":"AKIDEXAMPLE"`, `"SenderId":"000000000000"`)
}

func TestTrapPermissions(t *testing.T) {
	r := newRig(t)
	r.create("q")
	add := func(label, account string) answer {
		return r.json("AddPermission", `{"QueueUrl":"QUEUE:q","Label":"`+label+`","AWSAccountIds":["`+account+`"],"Actions":["ReceiveMessage"]}`)
	}
	add("l1", "111111111111").ok()
	add("l1", "222222222222").fails(400, "InvalidParameterValue", "Value l1 for parameter Label is invalid. Reason: Already exists.")
	add("l2", "222222222222").ok()
	add("l3", "x").fails(400, "InvalidParameterValue")
	var p struct {
		Version   string
		Statement []struct {
			Sid, Effect, Action, Resource string
			Principal                     struct{ AWS string }
		}
	}
	if err := json.Unmarshal([]byte(r.attribute("q", "Policy")), &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Statement) != 2 || p.Statement[0].Principal.AWS != "arn:aws:iam::111111111111:root" || p.Statement[0].Action != "SQS:ReceiveMessage" ||
		p.Statement[0].Resource != "arn:aws:sqs:us-east-1:000000000000:q" || p.Version != "2008-10-17" {
		t.Errorf("the policy is %+v", p)
	}
	remove := func(label string) answer {
		return r.json("RemovePermission", `{"QueueUrl":"QUEUE:q","Label":"`+label+`"}`)
	}
	remove("l1").ok()
	remove("l1").fails(400, "InvalidParameterValue", "Value l1 for parameter Label is invalid. Reason: can't find label.")
	remove("l2").ok()
	if got := r.attribute("q", "Policy"); got != "" {
		t.Errorf("the policy is left: %s", got)
	}
}

func TestTrapCounts(t *testing.T) {
	r := newRig(t)
	r.create("q")
	r.json("SendMessageBatch", `{"QueueUrl":"QUEUE:q","Entries":[{"Id":"1","MessageBody":"x"},{"Id":"2","MessageBody":"x"},{"Id":"3","MessageBody":"x","DelaySeconds":900}]}`).ok()
	r.receive("q")
	a := r.json("GetQueueAttributes", `{"QueueUrl":"QUEUE:q","AttributeNames":["All"]}`).ok()
	for name, want := range map[string]string{
		"ApproximateNumberOfMessages": "1", "ApproximateNumberOfMessagesNotVisible": "1", "ApproximateNumberOfMessagesDelayed": "1",
		"DelaySeconds": "0", "MaximumMessageSize": "1048576", "MessageRetentionPeriod": "345600", "ReceiveMessageWaitTimeSeconds": "0", "VisibilityTimeout": "30",
	} {
		if got := a.text("Attributes", name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	a.lacks("FifoQueue", "RedrivePolicy", "Policy", "Bezoar", "DeduplicationScope")
	if a := r.json("GetQueueAttributes", `{"QueueUrl":"QUEUE:q"}`).ok(); a.body != `{"Attributes":{}}` {
		t.Error(a.body)
	}
	r.json("GetQueueAttributes", `{"QueueUrl":"QUEUE:q","AttributeNames":["Foo"]}`).fails(400, "InvalidAttributeName", "Unknown Attribute Foo.")
}

func TestTrapTypedAttributes(t *testing.T) {
	r := newRig(t)
	r.create("q")
	send := func(attributes string) answer {
		return r.json("SendMessage", `{"QueueUrl":"QUEUE:q","MessageBody":"x","MessageAttributes":`+attributes+`}`)
	}
	send(`{"ErrorDetails":{"DataType":"String","StringValue":""}}`).
		fails(400, "InvalidParameterValue", "Message (user) attribute 'ErrorDetails' must contain a non-empty value of type 'String'.")
	for _, bad := range []string{
		`{"AWS.x":{"DataType":"String","StringValue":"x"}}`, `{".x":{"DataType":"String","StringValue":"x"}}`, `{"x..y":{"DataType":"String","StringValue":"x"}}`,
		`{"a b":{"DataType":"String","StringValue":"x"}}`, `{"":{"DataType":"String","StringValue":"x"}}`, `{"x":{"DataType":"Text","StringValue":"x"}}`,
		`{"x":{"StringValue":"x"}}`, `{"x":{"DataType":"Number","StringValue":"one"}}`, `{"x":{"DataType":"Number","StringValue":"NaN"}}`, `{"x":{"DataType":"Binary","StringValue":"x"}}`,
	} {
		send(bad).fails(400, "InvalidParameterValue")
	}
	send(`{"x":{"DataType":"Binary","BinaryValue":"?"}}`).fails(400, "MalformedQueryString", "SerializationException")
	send(`{"x":{"DataType":"String","StringValue":"\u0001"}}`).fails(400, "InvalidMessageContents")
	many := make([]string, 11)
	for i := range many {
		many[i] = fmt.Sprintf(`"a%d":{"DataType":"String","StringValue":"x"}`, i)
	}
	send("{"+strings.Join(many, ",")+"}").fails(400, "InvalidParameterValue", "Number of message attributes [11] exceeds the allowed maximum [10].")
	send("{" + strings.Join(many[:10], ",") + "}").ok()
	r.set("q", "MaximumMessageSize", "1024").ok() // names, types and values count
	r.json("SendMessage", `{"QueueUrl":"QUEUE:q","MessageBody":"`+strings.Repeat("a", 1016)+`","MessageAttributes":{"x":{"DataType":"String","StringValue":"y"}}}`).ok()
	r.json("SendMessage", `{"QueueUrl":"QUEUE:q","MessageBody":"`+strings.Repeat("a", 1017)+`","MessageAttributes":{"x":{"DataType":"String","StringValue":"y"}}}`).
		fails(400, "InvalidParameterValue", "Message must be shorter than 1024 bytes.")
}

func TestTrapPages(t *testing.T) {
	r := newRig(t)
	for i := range 5 {
		r.create(fmt.Sprintf("p%d", i))
	}
	r.create("other")
	if a := r.json("ListQueues", `{"QueueNamePrefix":"x"}`).ok(); a.body != `{}` {
		t.Error(a.body)
	}
	r.json("ListQueues", `{"QueueNamePrefix":"p"}`).ok().lacks("NextToken")
	var seen []string
	token := ""
	for range 3 {
		a := r.json("ListQueues", `{"QueueNamePrefix":"p","MaxResults":2,"NextToken":"`+token+`"}`).ok()
		for _, u := range a.at("QueueUrls").([]any) {
			seen = append(seen, u.(string)[len(r.queueURL("")):])
		}
		token, _ = a.at("NextToken").(string)
	}
	if strings.Join(seen, " ") != "p0 p1 p2 p3 p4" || token != "" {
		t.Errorf("saw %v, and there is %q", seen, token)
	}
	r.json("ListQueues", `{"MaxResults":1001}`).fails(400, "InvalidParameterValue")
	r.json("ListQueues", `{"NextToken":"?"}`).fails(400, "InvalidParameterValue")
	r.json("ListQueues", `{"NextToken":"cDE"}`).fails(400, "InvalidParameterValue") // the text p1
}

func TestTrapUnknownActions(t *testing.T) {
	r := newRig(t)
	r.json("Frobnicate", `{}`).fails(400, "InvalidAction", "UnknownOperationException")
	r.form("Frobnicate").fails(400, "InvalidAction", "<Code>InvalidAction</Code>")
	req := r.jsonRequest("x", `{}`)
	req.Header.Set("X-Amz-Target", "AmazonSNS.Publish")
	r.do(req).fails(400, "InvalidAction")
	req.Header.Del("X-Amz-Target")
	post, err := http.NewRequestWithContext(context.Background(), http.MethodPost, r.url, strings.NewReader("x=y"))
	if err != nil {
		t.Fatal(err)
	}
	r.do(post).fails(400, "MissingAction")
	for _, bad := range []string{`{`, `[]`, `{"QueueUrl":{}}`, `{"MaxResults":"x"}`, `{} x`, `{"QueueUrl":"a` + "\n" + `"}`} {
		r.json("ListQueues", bad).fails(400, "MalformedQueryString", "com.amazon.coral.service#SerializationException")
	}
}

func TestTrapTextsThatXMLCannotHold(t *testing.T) {
	r := newRig(t)
	r.create("q")
	// Sent by another way than this front.
	if _, err := r.engine.Send(context.Background(), "q", queue.SendInput{Body: []byte("a\x01\r\n<&>\xff")}); err != nil {
		t.Fatal(err)
	}
	a := r.form("ReceiveMessage", "QueueUrl", "QUEUE:q", "VisibilityTimeout", "0").ok().has("<Body>a\ufffd&#xD;\n&lt;&amp;&gt;\ufffd</Body>")
	b := r.json("ReceiveMessage", `{"QueueUrl":"QUEUE:q"}`).ok()
	if b.text("Messages", 0, "Body") != "a\ufffd\r\n<&>\ufffd" || b.text("Messages", 0, "MD5OfBody") != a.between("<MD5OfBody>", "<") {
		t.Error(a.body, b.body)
	}
}

// within waits until a condition holds.
func within(t *testing.T, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("it did not come about in time")
		}
	}
}

// SDKs of the Query protocol write an empty list as NAME=.
func TestTrapEmptyListsOfForms(t *testing.T) {
	r := newRig(t)
	r.create("q")
	r.form("SendMessageBatch", "QueueUrl", "QUEUE:q", "SendMessageBatchRequestEntry", "").fails(400, "AWS.SimpleQueueService.EmptyBatchRequest")
	r.form("GetQueueAttributes", "QueueUrl", "QUEUE:q", "AttributeName", "").ok().has("<GetQueueAttributesResult></GetQueueAttributesResult>")
	r.form("SetQueueAttributes", "QueueUrl", "QUEUE:q", "Attribute", "").fails(400, "MissingParameter")
	r.form("SendMessage", "QueueUrl", "QUEUE:q", "MessageBody", "").fails(400, "MissingParameter", "MessageBody")
	r.form("SendMessage", "QueueUrl", "QUEUE:q", "MessageBody", "x", "MessageAttribute", "").ok().lacks("MD5OfMessageAttributes")
}

func TestTrapAttributeNamesOfAnyLanguage(t *testing.T) {
	r := newRig(t)
	r.create("q")
	send := func(name string) answer {
		return r.json("SendMessage", `{"QueueUrl":"QUEUE:q","MessageBody":"x","MessageAttributes":{"`+name+`":{"DataType":"String","StringValue":"v"}}}`)
	}
	for _, name := range []string{"größe", "数量", "имя.2"} {
		send(name).ok()
	}
	for _, name := range []string{"a b", "a–b", "€"} {
		send(name).fails(400, "InvalidParameterValue")
	}
}

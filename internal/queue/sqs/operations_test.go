package sqs_test

import (
	"strings"
	"testing"
	"time"
)

// step is one operation in both protocols.
type step struct {
	op   string
	json string
	form []string
	want []string // in the JSON
	xml  []string // in the XML
}

// Every operation in both protocols, in an order in which each finds what it
// needs. RECEIPT and TASK are what the step before returned.
func TestEveryOperationInBothProtocols(t *testing.T) {
	steps := []step{
		{
			"CreateQueue", `{"QueueName":"jobs","Attributes":{"VisibilityTimeout":"60"},"tags":{"team":"a"}}`,
			[]string{"QueueName", "jobs", "Attribute.1.Name", "VisibilityTimeout", "Attribute.1.Value", "60", "Tag.1.Key", "team", "Tag.1.Value", "a"},
			[]string{`"QueueUrl":"http://`, `/000000000000/jobs"`},
			[]string{"<CreateQueueResponse xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\"><CreateQueueResult><QueueUrl>http://", "/000000000000/jobs</QueueUrl></CreateQueueResult><ResponseMetadata><RequestId>"},
		},
		{
			"GetQueueUrl", `{"QueueName":"jobs"}`,
			[]string{"QueueName", "jobs"},
			[]string{`/000000000000/jobs"}`},
			[]string{"<GetQueueUrlResult><QueueUrl>", "/000000000000/jobs</QueueUrl>"},
		},
		{
			"ListQueues", `{"QueueNamePrefix":"jo"}`,
			[]string{"QueueNamePrefix", "jo"},
			[]string{`{"QueueUrls":["`, `/jobs"]}`},
			[]string{"<ListQueuesResult><QueueUrl>", "/jobs</QueueUrl></ListQueuesResult>"},
		},
		{
			"GetQueueAttributes", `{"QueueUrl":"QUEUE:jobs","AttributeNames":["QueueArn","VisibilityTimeout"]}`,
			[]string{"QueueUrl", "QUEUE:jobs", "AttributeName.1", "QueueArn", "AttributeName.2", "VisibilityTimeout"},
			[]string{`{"Attributes":{"QueueArn":"arn:aws:sqs:us-east-1:000000000000:jobs","VisibilityTimeout":"60"}}`},
			[]string{"<Attribute><Name>QueueArn</Name><Value>arn:aws:sqs:us-east-1:000000000000:jobs</Value></Attribute><Attribute><Name>VisibilityTimeout</Name><Value>60</Value></Attribute>"},
		},
		{
			"SetQueueAttributes", `{"QueueUrl":"QUEUE:jobs","Attributes":{"DelaySeconds":"0"}}`,
			[]string{"QueueUrl", "QUEUE:jobs", "Attribute.1.Name", "DelaySeconds", "Attribute.1.Value", "0"},
			nil,
			[]string{"<SetQueueAttributesResponse"},
		},
		{
			"TagQueue", `{"QueueUrl":"QUEUE:jobs","Tags":{"cost":"1 & 2"}}`,
			[]string{"QueueUrl", "QUEUE:jobs", "Tag.1.Key", "cost", "Tag.1.Value", "1 & 2"},
			nil,
			[]string{"<TagQueueResponse"},
		},
		{
			"ListQueueTags", `{"QueueUrl":"QUEUE:jobs"}`,
			[]string{"QueueUrl", "QUEUE:jobs"},
			[]string{`{"Tags":{"cost":"1 & 2","team":"a"}}`},
			[]string{"<Tag><Key>cost</Key><Value>1 &amp; 2</Value></Tag><Tag><Key>team</Key><Value>a</Value></Tag>"},
		},
		{
			"UntagQueue", `{"QueueUrl":"QUEUE:jobs","TagKeys":["cost"]}`,
			[]string{"QueueUrl", "QUEUE:jobs", "TagKey.1", "cost"},
			nil,
			[]string{"<UntagQueueResponse"},
		},
		{
			"SendMessage", `{"QueueUrl":"QUEUE:jobs","MessageBody":"hello world"}`,
			[]string{"QueueUrl", "QUEUE:jobs", "MessageBody", "hello world"},
			[]string{`"MD5OfMessageBody":"5eb63bbbe01eeed093cb22bb8f5acdc3"`, `"MessageId":"`},
			[]string{"<SendMessageResult><MD5OfMessageBody>5eb63bbbe01eeed093cb22bb8f5acdc3</MD5OfMessageBody><MessageId>"},
		},
		{
			"ReceiveMessage", `{"QueueUrl":"QUEUE:jobs"}`,
			[]string{"QueueUrl", "QUEUE:jobs"},
			[]string{`"Messages":[{`, `"MD5OfBody":"5eb63bbbe01eeed093cb22bb8f5acdc3"`, `"Body":"hello world"`},
			[]string{"<ReceiveMessageResult><Message><MessageId>", "<Body>hello world</Body></Message></ReceiveMessageResult>"},
		},
		{
			"ChangeMessageVisibility", `{"QueueUrl":"QUEUE:jobs","ReceiptHandle":"RECEIPT","VisibilityTimeout":90}`,
			[]string{"QueueUrl", "QUEUE:jobs", "ReceiptHandle", "RECEIPT", "VisibilityTimeout", "90"},
			nil,
			[]string{"<ChangeMessageVisibilityResponse"},
		},
		{
			"ChangeMessageVisibilityBatch", `{"QueueUrl":"QUEUE:jobs","Entries":[{"Id":"a","ReceiptHandle":"RECEIPT","VisibilityTimeout":90}]}`,
			[]string{
				"QueueUrl", "QUEUE:jobs", "ChangeMessageVisibilityBatchRequestEntry.1.Id", "a",
				"ChangeMessageVisibilityBatchRequestEntry.1.ReceiptHandle", "RECEIPT", "ChangeMessageVisibilityBatchRequestEntry.1.VisibilityTimeout", "90",
			},
			[]string{`{"Successful":[{"Id":"a"}]}`},
			[]string{"<ChangeMessageVisibilityBatchResultEntry><Id>a</Id></ChangeMessageVisibilityBatchResultEntry>"},
		},
		{
			"DeleteMessage", `{"QueueUrl":"QUEUE:jobs","ReceiptHandle":"RECEIPT"}`,
			[]string{"QueueUrl", "QUEUE:jobs", "ReceiptHandle", "RECEIPT"},
			nil,
			[]string{"<DeleteMessageResponse"},
		},
		{
			"SendMessageBatch", `{"QueueUrl":"QUEUE:jobs","Entries":[{"Id":"a","MessageBody":"x"}]}`,
			[]string{"QueueUrl", "QUEUE:jobs", "SendMessageBatchRequestEntry.1.Id", "a", "SendMessageBatchRequestEntry.1.MessageBody", "x"},
			[]string{`{"Successful":[{"Id":"a","MD5OfMessageBody":"9dd4e461268c8034f5c8564e155c67a6","MessageId":"`},
			[]string{"<SendMessageBatchResultEntry><Id>a</Id><MD5OfMessageBody>9dd4e461268c8034f5c8564e155c67a6</MD5OfMessageBody>"},
		},
		{"ReceiveMessage", `{"QueueUrl":"QUEUE:jobs"}`, []string{"QueueUrl", "QUEUE:jobs"}, nil, nil},
		{
			"DeleteMessageBatch", `{"QueueUrl":"QUEUE:jobs","Entries":[{"Id":"a","ReceiptHandle":"RECEIPT"}]}`,
			[]string{"QueueUrl", "QUEUE:jobs", "DeleteMessageBatchRequestEntry.1.Id", "a", "DeleteMessageBatchRequestEntry.1.ReceiptHandle", "RECEIPT"},
			[]string{`{"Successful":[{"Id":"a"}]}`},
			[]string{"<DeleteMessageBatchResultEntry><Id>a</Id></DeleteMessageBatchResultEntry>"},
		},
		{"PurgeQueue", `{"QueueUrl":"QUEUE:jobs"}`, []string{"QueueUrl", "QUEUE:jobs"}, nil, []string{"<PurgeQueueResponse"}},
		{
			"AddPermission", `{"QueueUrl":"QUEUE:jobs","Label":"l","AWSAccountIds":["111122223333"],"Actions":["ReceiveMessage"]}`,
			[]string{"QueueUrl", "QUEUE:jobs", "Label", "l", "AWSAccountId.1", "111122223333", "ActionName.1", "ReceiveMessage"},
			nil,
			[]string{"<AddPermissionResponse"},
		},
		{
			"RemovePermission", `{"QueueUrl":"QUEUE:jobs","Label":"l"}`,
			[]string{"QueueUrl", "QUEUE:jobs", "Label", "l"},
			nil,
			[]string{"<RemovePermissionResponse"},
		},
		{"CreateQueue", `{"QueueName":"source","Attributes":{"RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:jobs\",\"maxReceiveCount\":\"3\"}"}}`, []string{
			"QueueName", "source", "Attribute.1.Name", "RedrivePolicy",
			"Attribute.1.Value", `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:jobs","maxReceiveCount":"3"}`,
		}, nil, nil},
		{
			"ListDeadLetterSourceQueues", `{"QueueUrl":"QUEUE:jobs"}`,
			[]string{"QueueUrl", "QUEUE:jobs"},
			[]string{`{"queueUrls":["`, `/source"]}`},
			[]string{"<ListDeadLetterSourceQueuesResult><QueueUrl>", "/source</QueueUrl>"},
		},
		{
			"StartMessageMoveTask", `{"SourceArn":"arn:aws:sqs:us-east-1:000000000000:jobs","MaxNumberOfMessagesPerSecond":5}`,
			[]string{"SourceArn", "arn:aws:sqs:us-east-1:000000000000:jobs", "MaxNumberOfMessagesPerSecond", "5"},
			[]string{`{"TaskHandle":"`},
			[]string{"<StartMessageMoveTaskResult><TaskHandle>"},
		},
		{
			"ListMessageMoveTasks", `{"SourceArn":"arn:aws:sqs:us-east-1:000000000000:jobs"}`,
			[]string{"SourceArn", "arn:aws:sqs:us-east-1:000000000000:jobs"},
			[]string{`"Results":[{"ApproximateNumberOfMessagesMoved":0,`, `"MaxNumberOfMessagesPerSecond":5`, `"Status":"`},
			[]string{"<ListMessageMoveTasksResultEntry><ApproximateNumberOfMessagesMoved>0<"},
		},
		{"DeleteQueue", `{"QueueUrl":"QUEUE:source"}`, []string{"QueueUrl", "QUEUE:source"}, nil, []string{"<DeleteQueueResponse"}},
		{"DeleteQueue", `{"QueueUrl":"QUEUE:jobs"}`, []string{"QueueUrl", "QUEUE:jobs"}, nil, []string{"<DeleteQueueResponse"}},
	}
	for _, protocol := range []string{"json", "query"} {
		t.Run(protocol, func(t *testing.T) {
			r, receipt := newRig(t), ""
			for _, s := range steps {
				var a answer
				if protocol == "json" {
					a = r.json(s.op, strings.ReplaceAll(s.json, "RECEIPT", receipt)).ok().has(s.want...)
				} else {
					form := append([]string(nil), s.form...)
					for i := range form {
						form[i] = strings.ReplaceAll(form[i], "RECEIPT", receipt)
					}
					a = r.form(s.op, form...).ok().has(s.xml...)
				}
				if s.op == "ReceiveMessage" {
					receipt = a.between(map[string]string{"json": `"ReceiptHandle":"`, "query": "<ReceiptHandle>"}[protocol],
						map[string]string{"json": `"`, "query": "<"}[protocol])
				}
			}
		})
	}
}

func TestMoveTasksInBothProtocols(t *testing.T) {
	r := newRig(t)
	r.create("dead")
	r.create("source", `{"RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:dead\",\"maxReceiveCount\":1}"}`)
	for range 5 { // one a second: it runs long enough to be cancelled
		r.send("dead", "x")
	}
	const arn = "arn:aws:sqs:us-east-1:000000000000:dead"
	task := r.form("StartMessageMoveTask", "SourceArn", arn, "DestinationArn", "arn:aws:sqs:us-east-1:000000000000:source", "MaxNumberOfMessagesPerSecond", "1").
		ok().between("<TaskHandle>", "<")
	r.form("ListMessageMoveTasks", "SourceArn", arn).ok().has("<TaskHandle>"+task, "<Status>RUNNING<", "<ApproximateNumberOfMessagesToMove>5<", ":source</DestinationArn>")
	r.form("CancelMessageMoveTask", "TaskHandle", task).ok().has("<ApproximateNumberOfMessagesMoved>")
	r.form("CancelMessageMoveTask", "TaskHandle", task).fails(400, "AWS.SimpleQueueService.UnsupportedOperation")
	task = r.json("StartMessageMoveTask", `{"SourceArn":"`+arn+`","DestinationArn":"arn:aws:sqs:eu-west-1:111122223333:source","MaxNumberOfMessagesPerSecond":1}`).ok().text("TaskHandle")
	r.json("CancelMessageMoveTask", `{"TaskHandle":"`+task+`"}`).ok().has(`"ApproximateNumberOfMessagesMoved":`)
	list := r.json("ListMessageMoveTasks", `{"SourceArn":"`+arn+`","MaxResults":10}`).ok()
	if list.text("Results", 0, "Status") != "CANCELLED" || list.at("Results", 0, "TaskHandle") != nil || list.at("Results", 1) == nil {
		t.Fatalf("the list is %s", list.body)
	}
	if started, _ := list.at("Results", 0, "StartedTimestamp").(float64); time.Since(time.UnixMilli(int64(started))).Abs() > time.Minute {
		t.Fatalf("it started at %v", started)
	}
}

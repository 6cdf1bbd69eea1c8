package sqs

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/queue"
)

// everything is a request with all members there are, as SDKs write them.
const everything = `{"QueueUrl":"u","QueueName":"n","QueueNamePrefix":"p","NextToken":"t","ReceiveRequestAttemptId":"i","Label":"l",
"SourceArn":"s","DestinationArn":"d","TaskHandle":"h","MaxResults":1,"MaxNumberOfMessages":2,"WaitTimeSeconds":3,"MaxNumberOfMessagesPerSecond":4,
"Attributes":{"a":"1"},"tags":{"k":"v"},"TagKeys":["k1","k2"],"AttributeNames":["All"],"MessageSystemAttributeNames":["b"],"MessageAttributeNames":["c.*"],
"AWSAccountIds":["1"],"Actions":["x"],"ReceiptHandle":"r","MessageBody":"body","MessageGroupId":"g","MessageDeduplicationId":"e","DelaySeconds":5,"VisibilityTimeout":6,
"MessageAttributes":{"m":{"BinaryListValues":["YmxvYg=="],"BinaryValue":"YmxvYg==","DataType":"Binary.x","StringListValues":["y"]}},
"MessageSystemAttributes":{"AWSTraceHeader":{"DataType":"String","StringValue":"z"}},"BezoarOutcome":{"class":"bug"},
"Entries":[{"Id":"1","MessageBody":"first","DelaySeconds":7,"MessageAttributes":{"m":{"DataType":"String","StringValue":"v"}}},{"Id":"2","ReceiptHandle":"r2","VisibilityTimeout":8}]}`

func everythingForm() string {
	v := url.Values{}
	for _, kv := range [][2]string{
		{"QueueUrl", "u"},
		{"QueueName", "n"},
		{"QueueNamePrefix", "p"},
		{"NextToken", "t"},
		{"ReceiveRequestAttemptId", "i"},
		{"Label", "l"},
		{"SourceArn", "s"},
		{"DestinationArn", "d"},
		{"TaskHandle", "h"},
		{"MaxResults", "1"},
		{"MaxNumberOfMessages", "2"},
		{"WaitTimeSeconds", "3"},
		{"MaxNumberOfMessagesPerSecond", "4"},
		{"Attribute.1.Name", "a"},
		{"Attribute.1.Value", "1"},
		{"Tag.1.Key", "k"},
		{"Tag.1.Value", "v"},
		{"TagKey.2", "k2"},
		{"TagKey.1", "k1"},
		{"AttributeName", "All"},
		{"MessageSystemAttributeName.1", "b"},
		{"MessageAttributeName.member.1", "c.*"},
		{"AWSAccountId.1", "1"},
		{"ActionName.1", "x"},
		{"ReceiptHandle", "r"},
		{"MessageBody", "body"},
		{"MessageGroupId", "g"},
		{"MessageDeduplicationId", "e"},
		{"DelaySeconds", "5"},
		{"VisibilityTimeout", "6"},
		{"MessageAttribute.1.Name", "m"},
		{"MessageAttribute.1.Value.BinaryValue", "YmxvYg=="},
		{"MessageAttribute.1.Value.DataType", "Binary.x"},
		{"MessageSystemAttribute.1.Name", "AWSTraceHeader"},
		{"MessageSystemAttribute.1.Value.DataType", "String"},
		{"MessageSystemAttribute.1.Value.StringValue", "z"},
		{"BezoarOutcome", `{"class":"bug"}`},
		{"SendMessageBatchRequestEntry.1.Id", "1"},
		{"SendMessageBatchRequestEntry.1.MessageBody", "first"},
		{"SendMessageBatchRequestEntry.1.DelaySeconds", "7"},
		{"SendMessageBatchRequestEntry.1.MessageAttribute.1.Name", "m"},
		{"SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.DataType", "String"},
		{"SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.StringValue", "v"},
		{"SendMessageBatchRequestEntry.2.Id", "2"},
		{"SendMessageBatchRequestEntry.2.ReceiptHandle", "r2"},
		{"SendMessageBatchRequestEntry.2.VisibilityTimeout", "8"},
		{"Action", "X"},
		{"Version", "2012-11-05"},
		{"X-Amz-Signature", "0"},
	} {
		v.Set(kv[0], kv[1])
	}
	return v.Encode()
}

func TestBothProtocolsSayTheSame(t *testing.T) {
	var fromJSON, fromForm request
	if err := decodeJSON([]byte(everything), &fromJSON); err != nil {
		t.Fatal(err)
	}
	f := formReader{r: &fromForm}
	if err := f.read(everythingForm()); err != nil {
		t.Fatal(err)
	}
	if f.finish(); f.action != "X" {
		t.Errorf("the action is %q", f.action)
	}
	if !reflect.DeepEqual(fromJSON, fromForm) {
		t.Errorf("JSON: %+v\nform: %+v", fromJSON, fromForm)
	}
	v := reflect.ValueOf(fromJSON)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("member %s was not read", v.Type().Field(i).Name)
		}
	}
	if m := fromJSON.message; m.Typed["m"].DataType != "Binary.x" || string(m.Typed["m"].Binary) != "blob" || fromJSON.Entries[1].Visibility != (number{8, true}) {
		t.Errorf("read %+v", fromJSON)
	}
}

func TestDecodedRequestsOwnTheirMemory(t *testing.T) {
	data := []byte(`{"QueueUrl":"u","MessageBody":"body","Entries":[{"Id":"1","MessageBody":"first"}],"BezoarOutcome":{"class":"bug"}}`)
	var r request
	if err := decodeJSON(data, &r); err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] = 'X'
	}
	if r.QueueURL != "u" || string(r.Body) != "body" || string(r.Entries[0].Body) != "first" || string(r.Outcome) != `{"class":"bug"}` {
		t.Errorf("the request changed with its buffer: %+v", r)
	}
}

func TestJSONNumbers(t *testing.T) {
	for text, want := range map[string]number{
		`1`: {1, true}, `"2"`: {2, true}, `3.0`: {3, true}, `1e2`: {100, true}, `-1`: {-1, true}, `null`: {}, `0`: {0, true},
	} {
		var r request
		if err := decodeJSON([]byte(`{"MaxResults":`+text+`}`), &r); err != nil || r.MaxResults != want {
			t.Errorf("%s is %+v, %v, want %+v", text, r.MaxResults, err, want)
		}
	}
	for _, text := range []string{`1.5`, `01`, `+1`, `1e`, `.5`, `1e400`, `"x"`, `""`, `true`, `[1]`, `-`, `1 2`} {
		var r request
		if err := decodeJSON([]byte(`{"MaxResults":`+text+`}`), &r); err == nil {
			t.Errorf("%s is %+v", text, r.MaxResults)
		}
	}
}

func TestJSONDepthIsBounded(t *testing.T) {
	var r request
	deep := strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000)
	if err := decodeJSON([]byte(deep), &r); err == nil {
		t.Error("it was read to the bottom")
	}
}

func TestFormListsAreBounded(t *testing.T) {
	var form strings.Builder
	for i := range maxSlots + 1 {
		form.WriteString("&AttributeName." + string(appendInt(nil, i)) + "=x")
	}
	f := formReader{r: &request{}}
	if err := f.read(form.String()); err == nil {
		t.Error("the list was taken in whole")
	}
}

func appendInt(b []byte, n int) []byte {
	raw, _ := json.Marshal(n)
	return append(b, raw...)
}

// What this reader takes, encoding/json takes too, and means the same.
func FuzzDecodeJSON(f *testing.F) {
	f.Add([]byte(everything))
	for _, s := range []string{
		``, `{}`, `{"MessageBody":"\ud83d\ude00\n\u0000é"}`, `{"MessageBody":"\ud800"}`, `{"MessageBody":null,"x":[1,{"y":true}]}`,
		`{"MessageBody":"a\`, `{"Attributes":{"a":1,"b":true,"c":"d"}}`, "{\"MessageBody\":\"\xff\"}", `{"MessageBody":"a"}x`, `{"QueueUrl":"\/"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r request
		if decodeJSON(data, &r) != nil || len(bytes.TrimSpace(data)) == 0 {
			return
		}
		var want struct {
			QueueURL    json.RawMessage            `json:"QueueUrl"`
			MessageBody *string                    `json:"MessageBody"`
			TagKeys     []json.RawMessage          `json:"TagKeys"`
			Attributes  map[string]json.RawMessage `json:"Attributes"`
		}
		if !json.Valid(data) {
			t.Fatalf("%q was taken", data)
		}
		keys := map[string]json.RawMessage{}
		if json.Unmarshal(data, &keys) != nil {
			return // null
		}
		for key := range keys { // encoding/json does not mind the case
			for _, known := range []string{"QueueUrl", "MessageBody", "TagKeys", "Attributes"} {
				if key != known && strings.EqualFold(key, known) {
					return
				}
			}
		}
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatalf("%q was taken: %v", data, err)
		}
		if bytes.Count(data, []byte("MessageBody")) <= 1 && want.MessageBody != nil && *want.MessageBody != string(r.Body) {
			t.Fatalf("%q: body %q, want %q", data, r.Body, *want.MessageBody)
		}
		if !utf8.Valid(r.Body) || !utf8.ValidString(r.QueueURL) {
			t.Fatalf("%q gave invalid UTF-8", data)
		}
	})
}

func FuzzDecodeForm(f *testing.F) {
	f.Add(everythingForm())
	f.Add("Action=SendMessage&MessageBody=%zz&&=&a")
	f.Add("MessageAttribute.member.1.Name=x&MessageAttribute.-1.Value.BinaryValue=%3F")
	f.Fuzz(func(t *testing.T, form string) {
		var r request
		reader := formReader{r: &r}
		err := reader.read(form)
		reader.finish()
		want, werr := url.ParseQuery(form)
		if strings.Contains(form, ";") {
			return // which ParseQuery refuses
		}
		if err == nil && werr != nil {
			t.Fatalf("%q was taken: %v", form, werr)
		}
		if bodies := want["MessageBody"]; err == nil && len(bodies) > 0 && bodies[len(bodies)-1] != string(r.Body) {
			t.Fatalf("%q: body %q, want %q", form, r.Body, bodies)
		}
	})
}

// What is encoded reads back as it was, apart from what the form cannot hold.
func FuzzEncode(f *testing.F) {
	f.Add("plain")
	f.Add("<&>\"\\\r\n\t\x00\x1f é \u2028 \U0001F600 \ufffe \xff\xc3")
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		text := appendJSON(nil, s)
		if err := json.Unmarshal(text, &got); err != nil || got != strings.ToValidUTF8(repeatInvalid(s), "\ufffd") {
			t.Fatalf("%q became %s, which reads %q, %v", s, text, got, err)
		}
		if again := appendJSON(nil, []byte(s)); !bytes.Equal(text, again) {
			t.Fatalf("as bytes %q became %s, as a string %s", s, again, text)
		}
		var element struct {
			Text string `xml:",chardata"`
		}
		text = append(appendXML([]byte("<a>"), s), "</a>"...)
		if err := xml.Unmarshal(text, &element); err != nil {
			t.Fatalf("%q became %s: %v", s, text, err)
		}
		if legal(s) && element.Text != s {
			t.Fatalf("%q became %s, which reads %q", s, text, element.Text)
		}
	})
}

// repeatInvalid makes ToValidUTF8 replace each byte by itself, as JSON readers
// do, not each run of bytes.
func repeatInvalid(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b.WriteRune(utf8.RuneError)
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

func TestARN(t *testing.T) {
	for arn, want := range map[string]string{
		"arn:aws:sqs:us-east-1:000000000000:q": "q", "arn:aws-cn:sqs:cn-north-1:1:q.fifo": "q.fifo",
		"arn:aws:sns:us-east-1:000000000000:q": "", "arn:aws:sqs:us-east-1:q": "", "q": "", "arn:aws:sqs:a:b:.trash": "", "": "",
	} {
		if got, ok := parseARN(arn); got != want || ok != (want != "") {
			t.Errorf("%q names %q", arn, got)
		}
	}
}

func TestDigestOfNothingIsNothing(t *testing.T) {
	if got := digestOf(map[string]queue.Attribute{"a": {DataType: "String", String: "x"}}, nil); got != "" {
		t.Errorf("got %s", got)
	}
}

package sqs

import (
	"encoding/base64"

	"github.com/bezoar-dev/bezoar/queue"
)

// request holds the members of all operations. A member has the same meaning in every operation, and in both protocols.
type request struct {
	QueueURL    string
	QueueName   string
	Prefix      string
	NextToken   string
	AttemptID   string
	Label       string
	Source      string // SourceArn
	Destination string // DestinationArn
	Task        string // TaskHandle

	MaxResults  number
	MaxMessages number
	Wait        number
	Rate        number

	Attributes  map[string]string
	Tags        map[string]string
	TagKeys     []string
	Names       []string // AttributeNames
	SystemNames []string // MessageSystemAttributeNames
	FilterNames []string // MessageAttributeNames
	Accounts    []string
	Actions     []string

	message // of operations on one message
	Entries []message
}

// message holds the members of one message, in a batch or not.
type message struct {
	ID         string
	Receipt    string
	Body       []byte
	Group      string
	Dedup      string
	Delay      number
	Visibility number
	Typed      map[string]queue.Attribute // MessageAttributes
	System     map[string]queue.Attribute // MessageSystemAttributes
	Outcome    []byte                     // BezoarOutcome: JSON
}

// number is an integer that may be missing.
type number struct {
	value int64
	set   bool
}

// or returns the number, or otherwise if it is missing.
func (n number) or(otherwise int64) int64 {
	if n.set {
		return n.value
	}
	return otherwise
}

// decodeBinary decodes the value of a Binary attribute.
func decodeBinary(text string) ([]byte, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, malformed.text("a BinaryValue is not base64")
	}
	return raw, nil
}

package kafka

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/worker"
)

// Attributes of a message that are not headers of the record.
const (
	keyAttribute  = "kafka-key"       // a key that is not text
	tombAttribute = "kafka-tombstone" // "true" for a record without a value
)

// message converts a record to a worker's message. The caller holds the lock.
func (s *Source) message(e *entry) worker.Message {
	r, p := e.record, e.part
	m := worker.Message{
		ID: fmt.Sprintf("%s-%d@%d", s.cfg.Topic, p.id, e.offset), Body: r.Value, Receives: e.receives, Sent: r.Timestamp, Lost: p.lost,
		Receipt: receipt{s.life, p.serial, p.id, e.offset, stampOf(r), s.cfg.Group}.String(),
	}
	if len(r.Headers) > 0 {
		m.Attributes = attributesOf(r.Headers)
	}
	set := func(name string, a worker.Attribute) {
		if m.Attributes == nil {
			m.Attributes = map[string]worker.Attribute{}
		}
		m.Attributes[name] = a
	}
	if isText(r.Key) {
		m.Group = string(r.Key)
	} else {
		set(keyAttribute, binaryOf(r.Key))
	}
	if r.Value == nil {
		set(tombAttribute, worker.Attribute{DataType: "String", String: "true"})
		// Without a value, only the key distinguishes records; see queue.Identify.
		set(keyAttribute, binaryOf(r.Key))
	}
	return m
}

// attributesOf converts a record's headers. A repeated name gets the suffix # and a number
// from 2.
func attributesOf(headers []kgo.RecordHeader) map[string]worker.Attribute {
	all := make(map[string]worker.Attribute, len(headers))
	for _, h := range headers {
		name := strings.ToValidUTF8(h.Key, "\uFFFD")
		for n := 2; ; n++ {
			if _, used := all[name]; !used {
				break
			}
			name = strings.ToValidUTF8(h.Key, "\uFFFD") + "#" + strconv.Itoa(n)
		}
		if isText(h.Value) {
			all[name] = worker.Attribute{DataType: "String", String: string(h.Value)}
		} else {
			all[name] = binaryOf(h.Value)
		}
	}
	return all
}

func binaryOf(b []byte) queue.Attribute { return queue.Attribute{DataType: "Binary", Binary: b} }

func isText(b []byte) bool { return utf8.Valid(b) && !strings.Contains(string(b), "\x00") }

// stampOf returns a record's timestamp in milliseconds.
func stampOf(r *kgo.Record) int64 { return r.Timestamp.UnixMilli() }

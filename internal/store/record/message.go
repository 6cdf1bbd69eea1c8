package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

type attributes struct {
	Attributes map[string]queue.Attribute `json:"a,omitempty"`
	System     map[string]queue.Attribute `json:"s,omitempty"`
}

// sealed is the start of the checksum in the text of the attributes. The checksum is the
// last member, and no attribute can have its name.
const sealed = `"#":`

// EncodeAttributes encodes the attributes with a checksum over them and the body, by which
// DecodeAttributes detects a flipped bit.
func EncodeAttributes(in queue.SendInput) ([]byte, error) {
	text := []byte("{}")
	if len(in.Attributes) > 0 || len(in.System) > 0 {
		var err error
		if text, err = json.Marshal(attributes{in.Attributes, in.System}); err != nil {
			return nil, err
		}
	}
	text = text[:len(text)-1]
	sum := sumOf(in.Body, text)
	if len(text) > 1 {
		text = append(text, ',')
	}
	return append(strconv.AppendUint(append(text, sealed...), uint64(sum), 10), '}'), nil
}

// DecodeAttributes decodes the attributes of m, and verifies them and the body of m. For a
// damaged message it returns an error and no attributes. Messages of versions without
// checksums are accepted.
func DecodeAttributes(text []byte, m *queue.Message) {
	if len(text) == 0 {
		return
	}
	if i := bytes.LastIndex(text, []byte(sealed)); i > 0 && text[len(text)-1] == '}' {
		sum, err := strconv.ParseUint(string(text[i+len(sealed):len(text)-1]), 10, 32)
		text = bytes.TrimSuffix(text[:i], []byte(","))
		if m.Damaged = err != nil || uint32(sum) != sumOf(m.Body, text); m.Damaged || len(text) == 1 {
			return
		}
		text = append(slices.Clip(text), '}')
	}
	var a attributes
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields() // such as a checksum whose name has a flipped bit
	if d.Decode(&a) != nil {
		m.Damaged = true
		return
	}
	m.Attributes, m.System = a.Attributes, a.System
}

// AttributePattern returns a regular expression that finds an attribute with this text as
// its value in the result of EncodeAttributes, where quotes within names and values are
// escaped.
func AttributePattern(name, value string) string {
	end := `"}`
	if value != "" {
		end = `","s":` + quoted(value) + `}`
	}
	return regexp.QuoteMeta(quoted(name)+`:{"t":"`) + `[^"]*` + regexp.QuoteMeta(end)
}

func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("record: encode a text: %v", err)) // every text can be encoded
	}
	return string(text)
}

// sumOf returns a CRC-32C, for which processors have an instruction.
func sumOf(body, attributes []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Update(0, table, body), table, attributes)
}

// EncodeHistory encodes a history; nil for an empty one.
func EncodeHistory(h []queue.Attempt) ([]byte, error) {
	if len(h) == 0 {
		return nil, nil
	}
	return json.Marshal(h)
}

// DecodeHistory decodes the result of EncodeHistory.
func DecodeHistory(text []byte) (h []queue.Attempt, err error) {
	if len(text) == 0 {
		return nil, nil
	}
	if err = json.Unmarshal(text, &h); err != nil {
		err = fmt.Errorf("read a message's attempts: %w", err)
	}
	return h, err
}

// EncodeDeath encodes a message's letter.
func EncodeDeath(l *queue.Letter) ([]byte, error) { return json.Marshal(l) }

// DecodeDeath decodes the result of EncodeDeath; nil for an empty text.
func DecodeDeath(text []byte) (*queue.Letter, error) {
	if len(text) == 0 {
		return nil, nil
	}
	l := new(queue.Letter)
	if err := json.Unmarshal(text, l); err != nil {
		return nil, fmt.Errorf("read a message's letter: %w", err)
	}
	return l, nil
}

// definition holds the settings of a queue that only the engine uses.
type definition struct {
	Settings queue.Settings    `json:"settings"`
	Tags     map[string]string `json:"tags,omitempty"`
}

func EncodeQueue(q queue.Queue) ([]byte, error) { return json.Marshal(definition{q.Settings, q.Tags}) }

// DecodeQueue fills in what EncodeQueue encoded.
func DecodeQueue(text []byte, q *queue.Queue) error {
	var d definition
	if err := json.Unmarshal(text, &d); err != nil {
		return fmt.Errorf("read the settings of queue %q: %w", q.Name, err)
	}
	q.Settings, q.Tags = d.Settings, d.Tags
	return nil
}

// order holds the constant parts of a move task.
type order struct {
	Selection queue.Selection `json:"selection,omitzero"`
	// Class is the class of a selection by content. In such a selection, the class of the
	// selection itself is an impossible value, so that versions that do not know the
	// content conditions select nothing.
	Class     *string `json:"class,omitempty"`
	Canary    int     `json:"canary,omitempty"`
	HaltAbove float64 `json:"halt_above,omitempty"`
	Actor     string  `json:"actor,omitempty"`
	Reason    string  `json:"reason,omitempty"`
}

// EncodeMove encodes the constant parts of a move task, except its ID, kind, source and
// destination.
func EncodeMove(t queue.MoveTask) ([]byte, error) {
	o := order{t.Selection, nil, t.Canary, t.HaltAbove, t.Actor, t.Reason}
	if o.Selection.ByContent() {
		o.Class, o.Selection.Class = new(t.Selection.Class), "by content"
	}
	return json.Marshal(o)
}

// DecodeMove fills in what EncodeMove encoded.
func DecodeMove(text []byte, t *queue.MoveTask) error {
	var o order
	if err := json.Unmarshal(text, &o); err != nil {
		return fmt.Errorf("read move task %s: %w", t.ID, err)
	}
	if o.Class != nil {
		o.Selection.Class = *o.Class
	}
	t.Selection, t.Canary, t.HaltAbove, t.Actor, t.Reason = o.Selection, o.Canary, o.HaltAbove, o.Actor, o.Reason
	return nil
}

// EncodeLineage encodes a lineage; nil for none.
func EncodeLineage(l *queue.Lineage) ([]byte, error) {
	if l == nil {
		return nil, nil
	}
	return json.Marshal(l)
}

// DecodeLineage decodes the result of EncodeLineage; nil for an empty text.
func DecodeLineage(text []byte) (*queue.Lineage, error) {
	if len(text) == 0 {
		return nil, nil
	}
	l := new(queue.Lineage)
	if err := json.Unmarshal(text, l); err != nil {
		return nil, fmt.Errorf("read a message's lineage: %w", err)
	}
	return l, nil
}

// Time converts the store's microseconds to a time; 0 means no time.
func Time(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

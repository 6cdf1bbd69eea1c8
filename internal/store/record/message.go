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

// sealed is where the sum of a body and its attributes begins, in the text of the
// attributes: it is the last member, and no attribute can have such a name.
const sealed = `"#":`

// EncodeAttributes writes the attributes, and a sum over them and the body, by
// which DecodeAttributes notices a flipped bit.
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

// DecodeAttributes fills in what EncodeAttributes wrote about the body that m has.
// Of a message that is damaged it says so, and the attributes are none. Messages
// of versions without sums are taken as they are.
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
	d.DisallowUnknownFields() // such as a sum's whose name has a flipped bit
	if d.Decode(&a) != nil {
		m.Damaged = true
		return
	}
	m.Attributes, m.System = a.Attributes, a.System
}

// AttributePattern is a regular expression that finds an attribute with this text as
// its value in what EncodeAttributes wrote: quotes within names and values are escaped
// there.
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
		panic(fmt.Sprintf("record: encode a text: %v", err)) // no text is refused
	}
	return string(text)
}

// sumOf is CRC-32C, which processors have an instruction for.
func sumOf(body, attributes []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Update(0, table, body), table, attributes)
}

// EncodeHistory returns nil for an empty one.
func EncodeHistory(h []queue.Attempt) ([]byte, error) {
	if len(h) == 0 {
		return nil, nil
	}
	return json.Marshal(h)
}

// DecodeHistory reads what EncodeHistory wrote.
func DecodeHistory(text []byte) (h []queue.Attempt, err error) {
	if len(text) == 0 {
		return nil, nil
	}
	if err = json.Unmarshal(text, &h); err != nil {
		err = fmt.Errorf("read a message's attempts: %w", err)
	}
	return h, err
}

// EncodeDeath writes a message's letter.
func EncodeDeath(l *queue.Letter) ([]byte, error) { return json.Marshal(l) }

// DecodeDeath reads what EncodeDeath wrote; nothing is no letter.
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

// definition is what of a queue only the engine looks at.
type definition struct {
	Settings queue.Settings    `json:"settings"`
	Tags     map[string]string `json:"tags,omitempty"`
}

// EncodeQueue writes settings and tags.
func EncodeQueue(q queue.Queue) ([]byte, error) { return json.Marshal(definition{q.Settings, q.Tags}) }

// DecodeQueue fills in what EncodeQueue wrote.
func DecodeQueue(text []byte, q *queue.Queue) error {
	var d definition
	if err := json.Unmarshal(text, &d); err != nil {
		return fmt.Errorf("read the settings of queue %q: %w", q.Name, err)
	}
	q.Settings, q.Tags = d.Settings, d.Tags
	return nil
}

// order is what of a move task does not change.
type order struct {
	Selection queue.Selection `json:"selection,omitzero"`
	// Class is that of a selection by content, which itself has an impossible one:
	// versions that would pass over what they do not know of it find no letter.
	Class     *string `json:"class,omitempty"`
	Canary    int     `json:"canary,omitempty"`
	HaltAbove float64 `json:"halt_above,omitempty"`
	Actor     string  `json:"actor,omitempty"`
	Reason    string  `json:"reason,omitempty"`
}

// EncodeMove writes what of a move task does not change, apart from its ID,
// kind, source and destination.
func EncodeMove(t queue.MoveTask) ([]byte, error) {
	o := order{t.Selection, nil, t.Canary, t.HaltAbove, t.Actor, t.Reason}
	if o.Selection.ByContent() {
		o.Class, o.Selection.Class = new(t.Selection.Class), "by content"
	}
	return json.Marshal(o)
}

// DecodeMove fills in what EncodeMove wrote.
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

// EncodeLineage returns nil for none.
func EncodeLineage(l *queue.Lineage) ([]byte, error) {
	if l == nil {
		return nil, nil
	}
	return json.Marshal(l)
}

// DecodeLineage reads what EncodeLineage wrote; nothing is no lineage.
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

// Time returns the store's microseconds as a time; 0 is no time.
func Time(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

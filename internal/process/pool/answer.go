package pool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/internal/process/child"
)

// said is a parsed line of a child's stdout.
type said struct {
	kind   kind
	id     string        // of an answer
	report *child.Report // of an answer; nil if the answer has only its id
	err    error         // of a garbled one
}

type kind uint8

const (
	output  kind = iota // ordinary output
	greeted             // a hello
	answered
	garbled // for the protocol, but invalid
)

var (
	key     = []byte(`"bezoar"`)
	opening = []byte(`{"bezoar"`)
)

// envelope holds the fields of a line of the protocol.
type envelope struct {
	Bezoar json.RawMessage `json:"bezoar"`
	ID     json.RawMessage `json:"id"`

	Receives json.RawMessage `json:"receives"` // of a message
}

// parseLine parses one line of a child's stdout, without its line end.
//
// A line of the protocol is a JSON object with a number as "bezoar". It may follow other output on the same line if
// "bezoar" is its first member. Every other line is output.
func parseLine(line []byte) said {
	if !bytes.Contains(line, key) { // true for nearly all output
		return said{}
	}
	line = bytes.TrimSpace(line)
	if id, ok := plainAnswer(line); ok {
		return said{kind: answered, id: id}
	}
	return parseObject(line)
}

// plainAnswer parses the form that nearly all answers have, in its two usual spacings.
func plainAnswer(line []byte) (id string, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"bezoar":1,"id":"`))
	if !ok {
		rest, ok = bytes.CutPrefix(line, []byte(`{"bezoar": 1, "id": "`))
	}
	if ok {
		rest, ok = bytes.CutSuffix(rest, []byte(`"}`))
	}
	if !ok {
		return "", false
	}
	for _, c := range rest {
		if c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return "", false
		}
	}
	return string(rest), true
}

func parseObject(line []byte) said {
	behind := false
	if line[0] != '{' {
		at := bytes.LastIndex(line, opening)
		if at < 0 {
			return said{}
		}
		line, behind = line[at:], true
	}
	var e envelope
	if err := json.Unmarshal(line, &e); err != nil {
		if behind || !bytes.HasPrefix(line, opening) {
			return said{}
		}
		return said{kind: garbled, err: fmt.Errorf("not a JSON object: %w", err)}
	}
	if len(e.Bezoar) == 0 || e.Bezoar[0] != '-' && (e.Bezoar[0] < '0' || e.Bezoar[0] > '9') {
		return said{} // another program's JSON log with a member of the same name
	}
	if string(e.Bezoar) != "1" {
		return said{kind: garbled, err: fmt.Errorf("version %.20s of the protocol, want %d", e.Bezoar, Version)}
	}
	if len(e.ID) == 0 {
		return said{kind: greeted}
	}
	s := parseAnswer(line, e.ID)
	if s.kind == answered && len(e.Receives) > 0 && s.report.Class == "" {
		return said{kind: garbled, err: errEcho}
	}
	return s
}

func parseAnswer(line []byte, rawID json.RawMessage) said {
	var id string
	if rawID[0] != '"' || json.Unmarshal(rawID, &id) != nil {
		return said{kind: garbled, err: fmt.Errorf("id is %.40s, want the string that the message had", rawID)}
	}
	if len(line) > MaxAnswer {
		return said{kind: garbled, err: errTooLong}
	}
	report, err := child.ParseReport(line)
	if err != nil {
		return said{kind: garbled, id: id, err: err}
	}
	return said{kind: answered, id: id, report: report}
}

// errEcho is the error of programs that copy their input to their output: cat would otherwise succeed at every message.
var errEcho = errors.New("the message itself came back, without a class")

var errTooLong = fmt.Errorf("longer than %d bytes", MaxAnswer)

// tooLong classifies a line that is longer than an answer may be, from its beginning.
func tooLong(beginning []byte) said {
	if bytes.HasPrefix(bytes.TrimSpace(beginning), opening) {
		return said{kind: garbled, err: errTooLong}
	}
	return said{}
}

var errProtocol = errors.New("the line protocol was broken")

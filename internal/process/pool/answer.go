package pool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/internal/process/child"
)

// said is what a line of a child's stdout is.
type said struct {
	kind   kind
	id     string        // of an answer
	report *child.Report // of an answer; nil when it says no more than its id
	err    error         // of a garbled one
}

type kind uint8

const (
	output  kind = iota // a print
	greeted             // a hello
	answered
	garbled // meant for us, and not to be understood
)

var (
	key     = []byte(`"bezoar"`)
	opening = []byte(`{"bezoar"`)
)

// envelope is what every line of the protocol has.
type envelope struct {
	Bezoar json.RawMessage `json:"bezoar"`
	ID     json.RawMessage `json:"id"`

	Receives json.RawMessage `json:"receives"` // of a message
}

// parseLine tells what a child said on one line, which has no end any more.
//
// A line of the protocol is a JSON object with a number as "bezoar". It may stand
// behind a print that did not end its line, if "bezoar" is its first member.
// Everything else is output.
func parseLine(line []byte) said {
	if !bytes.Contains(line, key) { // nearly all output, and none of ours
		return said{}
	}
	line = bytes.TrimSpace(line)
	if id, ok := plainAnswer(line); ok {
		return said{kind: answered, id: id}
	}
	return parseObject(line)
}

// plainAnswer reads what nearly all answers are, as two spacings write it.
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
		return said{} // somebody's log, of something else that is called so
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

// errEcho is said of programs that write what they read, and know nothing of
// messages: cat would be done with all of them.
var errEcho = errors.New("the message itself came back, without a class")

var errTooLong = fmt.Errorf("longer than %d bytes", MaxAnswer)

// tooLong tells what a line is whose beginning alone is longer than an answer.
func tooLong(beginning []byte) said {
	if bytes.HasPrefix(bytes.TrimSpace(beginning), opening) {
		return said{kind: garbled, err: errTooLong}
	}
	return said{}
}

var errProtocol = errors.New("the line protocol was broken")

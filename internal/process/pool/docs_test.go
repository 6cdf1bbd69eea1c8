package pool

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/process/child"
)

var block = regexp.MustCompile("(?m)^ *```json (\\w+)\n((?s).*?)\n *```$")

// The lines of the page are those that are written and understood here, and its
// tables name all members and all classes.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/pool.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, b := range block.FindAllSubmatch(page, -1) {
		what, line := string(b[1]), b[2]
		seen[what]++
		s := parseLine(line)
		switch what {
		case "hello":
			if s.kind != greeted {
				t.Errorf("%s is no hello: %+v", line, s)
			}
		case "answer":
			if s.kind != answered || s.id == "" {
				t.Errorf("%s is no answer: %+v", line, s)
			}
		case "in":
			if string(line)+"\n" == hello {
				continue
			}
			var m struct {
				ID, Body, Group string
				Receives        int
				Attributes      map[string]string
				Deadline        int64 `json:"deadline_ms"`
			}
			if err := json.Unmarshal(line, &m); err != nil {
				t.Fatal(err)
			}
			j := child.Job{Stdin: []byte(m.Body), Message: child.Message{Receives: m.Receives, Group: m.Group, Attributes: m.Attributes}}
			if got := string(appendMessage(nil, m.ID, &j, time.UnixMilli(m.Deadline))); got != string(line)+"\n" {
				t.Errorf("the page has %s\nit would be %s", line, got)
			}
		default:
			t.Errorf("what is a block of %s?", what)
		}
	}
	if seen["hello"] < 1 || seen["answer"] < 2 || seen["in"] < 2 {
		t.Errorf("the page has too few lines: %v", seen)
	}
	for word := range strings.FieldsSeq("id body body_base64 receives attributes group deadline_ms class reason failure retry_after downstream rows done transient throttled outage invalid bug crash oom timeout " + EnvPool) {
		if !strings.Contains(string(page), "`"+word+"`") {
			t.Errorf("the page does not name %s", word)
		}
	}
	for class := range strings.FieldsSeq("done transient throttled outage invalid bug crash oom timeout") {
		if s := parseLine([]byte(`{"bezoar":1,"id":"x","class":"` + class + `"}`)); s.kind != answered {
			t.Errorf("%s: %+v", class, s)
		}
	}
}

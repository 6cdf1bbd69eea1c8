package record_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

// A task by what is within letters comes back as it was. A version that knows only the
// older conditions finds no letter for it, instead of taking all that these leave.
func TestMovesByContent(t *testing.T) {
	for name, s := range map[string]queue.Selection{
		"without":    {Queue: "jobs-dlq", Class: "bug", Last: 7},
		"body":       {Queue: "jobs-dlq", Body: "order 17"},
		"attributes": {Class: "bug", Attributes: map[string]string{"tenant": "acme"}},
		"reason":     {Class: "bug", Reason: "why", Last: 7},
	} {
		task := queue.MoveTask{Selection: s, Canary: 5, HaltAbove: .2, Actor: "ann", Reason: "fixed"}
		text, err := record.EncodeMove(task)
		if err != nil {
			t.Fatal(err)
		}
		var got queue.MoveTask
		if err := record.DecodeMove(text, &got); err != nil || cmp.Diff(task, got) != "" {
			t.Errorf("%s: %v %s", name, err, cmp.Diff(task, got))
		}
		var older struct{ Selection struct{ Queue, Class string } }
		if err := json.Unmarshal(text, &older); err != nil {
			t.Fatal(err)
		}
		var class bezoar.Class
		if known := class.UnmarshalText([]byte(older.Selection.Class)) == nil; known == s.ByContent() || older.Selection.Queue != s.Queue {
			t.Errorf("%s: an older version reads %s", name, text)
		}
	}
}

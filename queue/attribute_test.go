package queue_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/queue"
)

// What SQS clients cannot send nobody can: not by the command line, and not by an edit.
func TestAttributesThatSQSRefuses(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		r.send("jobs", "a message that waits")
		waiting, err := r.Peek(r.Context(), "jobs", 0, 1)
		r.must(err)
		text := func(s string) queue.Attribute { return queue.Attribute{DataType: "String", String: s} }
		for name, c := range map[string]struct {
			a    queue.Attribute
			want string // of the error; "": it is taken
		}{
			"größe.1-b_": {text("x"), ""},
			"bad name":   {text("x"), "it can have letters"},
			"AWS.x":      {text("x"), "beginning with 'AWS.'"},
			"amazon.x":   {text("x"), "beginning with 'AWS.'"},
			"a..b":       {text("x"), "two in a row"},
			".a":         {text("x"), "begin nor end with a dot"},
			"":           {text("x"), "must not be empty"},
			"empty":      {text(""), "non-empty value"},
			"number":     {queue.Attribute{DataType: "Number", String: "0x10"}, "to a number"},
			"kind":       {queue.Attribute{DataType: "Text", String: "x"}, "supported type prefixes"},
		} {
			set := map[string]queue.Attribute{name: c.a}
			_, sent := r.Send(r.Context(), "jobs", queue.SendInput{Body: []byte("a body"), Attributes: set})
			_, edited := r.EditMessage(r.Context(), "jobs", waiting[0].Sequence, queue.EditInput{Set: set})
			for _, err := range []error{sent, edited} {
				if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, queue.ErrInvalid) || !strings.Contains(err.Error(), c.want)) {
					r.Errorf("%q: %v, want %q", name, err, c.want)
				}
			}
		}
	})
}

package record_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

// One flipped bit, in the body or in the text of the attributes, is noticed.
func TestAFlippedBitIsNoticed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := queue.SendInput{Body: []byte(rapid.StringN(1, 100, 400).Draw(t, "body"))}
		if rapid.Bool().Draw(t, "with attributes") {
			in.Attributes = map[string]queue.Attribute{rapid.StringMatching(`[a-zä_.-]{1,5}`).Draw(t, "name"): {DataType: "String", String: rapid.String().Draw(t, "value")}}
		}
		text, err := record.EncodeAttributes(in)
		if err != nil {
			t.Fatal(err)
		}
		got := queue.Message{Body: in.Body}
		if record.DecodeAttributes(text, &got); got.Damaged || !cmp.Equal(got.Attributes, in.Attributes) {
			t.Fatalf("%s with %q is read as %+v", text, in.Body, got)
		}
		body, flipped := bytes.Clone(in.Body), bytes.Clone(text)
		place := rapid.IntRange(0, (len(body)+len(text))*8-1).Draw(t, "bit")
		if at := place / 8; at < len(body) {
			body[at] ^= 1 << (place % 8)
		} else {
			flipped[at-len(body)] ^= 1 << (place % 8)
		}
		got = queue.Message{Body: body}
		if record.DecodeAttributes(flipped, &got); !got.Damaged {
			t.Fatalf("%q with %q, from %q with %q, is read as %+v", flipped, body, text, in.Body, got)
		}
	})
}

// Messages of versions without sums are read as they are.
func TestMessagesWithoutASum(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", `{"a":{"c":{"t":"String","s":"x"}}}`} {
		m := queue.Message{Body: []byte("x")}
		if record.DecodeAttributes([]byte(text), &m); m.Damaged || (text != "") != (m.Attributes["c"].String == "x") {
			t.Errorf("%q is read as %+v", text, m)
		}
	}
}

func BenchmarkSum(b *testing.B) {
	in := queue.SendInput{Body: []byte(strings.Repeat("x", 1024))}
	text, err := record.EncodeAttributes(in)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("write 1 KiB", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = record.EncodeAttributes(in)
		}
	})
	b.Run("read 1 KiB", func(b *testing.B) {
		b.ReportAllocs()
		m := queue.Message{Body: in.Body}
		for b.Loop() {
			record.DecodeAttributes(text, &m)
		}
	})
}

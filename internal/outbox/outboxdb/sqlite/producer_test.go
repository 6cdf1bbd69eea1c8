package sqlite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/outbox"
)

// TestOtherProducers is about what drivers of other languages bind: bytes for text,
// numbers for keys, and headers that nobody has checked.
func TestOtherProducers(t *testing.T) {
	d := newOutbox(t)
	write := func(verb string, values ...any) error {
		_, err := d.app.ExecContext(t.Context(), verb+` INTO bezoar_outbox_write (topic, key, type, headers, payload, id) VALUES (?, ?, ?, ?, ?, ?)`, values...)
		return err
	}
	for _, key := range []any{"7", 7, []byte("7")} {
		if err := write("INSERT", []byte("orders"), key, []byte("t"), []byte(`{"a": "b"}`), 12, nil); err != nil {
			t.Fatal(err)
		}
	}
	for name, bad := range map[string][]any{
		"a header that is a number": {"orders", "7", nil, `{"n": 1}`, nil, nil},
		"a header that is an array": {"orders", "7", nil, `{"n": ["1"]}`, nil, nil},
		"headers that are an array": {"orders", "7", nil, `["n"]`, nil, nil},
		"headers that are no JSON":  {"orders", "7", nil, `{n`, nil, nil},
		"a topic with a zero byte":  {"orders\x00x", "7", nil, nil, nil, nil},
		"no topic":                  {nil, "7", nil, nil, nil, nil},
		"a topic with a blank":      {"a b", "7", nil, nil, nil, nil},
		"many headers":              {"orders", "7", nil, manyHeaders(65, 1), nil, nil},
		"long headers":              {"orders", "7", nil, manyHeaders(4, outbox.MaxHeaderBytes/4), nil, nil},
		"a header without a name":   {"orders", "7", nil, `{"": "x"}`, nil, nil},
		"a header with a zero byte": {"orders", "7", nil, `{"a": "x\u0000"}`, nil, nil},
		"a long key":                {"orders", strings.Repeat("ä", 257), nil, nil, nil, nil},
		"a long payload":            {"orders", "7", nil, nil, make([]byte, outbox.MaxPayload+1), nil},
	} {
		for _, verb := range []string{"INSERT", "INSERT OR IGNORE", "INSERT OR REPLACE"} {
			if err := write(verb, bad...); err == nil || !strings.Contains(err.Error(), "outbox: ") {
				t.Errorf("%s of %s: %v", verb, name, err)
			}
		}
	}
	if err := write("INSERT", "orders", "7", nil, manyHeaders(64, outbox.MaxHeaderBytes/64-2), nil, []byte("last")); err != nil {
		t.Fatal(err)
	}
	last, err := d.Store.Find(t.Context(), "last")
	if err != nil || last.Key != "7" || last.Sequence != 4 {
		t.Errorf("the last one is %+v, %v", last.Record, err)
	}
	if p, err := d.Store.Verify(t.Context(), outbox.VerifyQuery{}); err != nil || p.Events != 4 || p.Keys != 1 || len(p.Findings) > 0 {
		t.Errorf("the proof is %+v, %v", p, err)
	}
	all, err := d.Store.Waiting(t.Context(), outbox.Query{Topic: "orders", Key: "7"})
	if err != nil || len(all) != 4 || all[0].Headers["a"] != "b" || string(all[0].Payload) != "12" {
		t.Errorf("waiting are %+v, %v", all, err)
	}
}

// manyHeaders are n headers whose names have 2 bytes, and whose values have length.
func manyHeaders(n, length int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"%02d": "%s"`, i, strings.Repeat("v", length))
	}
	return "{" + strings.Join(all, ",") + "}"
}

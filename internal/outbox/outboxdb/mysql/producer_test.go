package mysql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/outbox"
)

// TestOtherProducers is about headers that nobody has checked.
func TestOtherProducers(t *testing.T) {
	d := newOutbox(t)
	for headers, good := range map[string]bool{
		`{}`: true, `{"a": "b", "c d": "1"}`: true, `{"a": "b", "n": 1}`: false, `{"n": null}`: false, `{"n": ["1"]}`: false, `{"n": {}}`: false, `["n"]`: false, `{n`: false,
		manyHeaders(64, outbox.MaxHeaderBytes/64-2): true, manyHeaders(65, 1): false, manyHeaders(4, outbox.MaxHeaderBytes/4): false, `{"": "x"}`: false, `{"a": "x\u0000"}`: false,
	} {
		_, err := d.app.ExecContext(t.Context(), `CALL `+d.schema+`_write('orders', '7', NULL, ?, '', NULL)`, headers)
		if good != (err == nil) || err != nil && !strings.Contains(err.Error(), "outbox: ") {
			t.Errorf("%.80s: %v", headers, err)
		}
	}
	if p, err := d.Store.Verify(t.Context(), outbox.VerifyQuery{}); err != nil || p.Events != 3 || len(p.Findings) > 0 {
		t.Errorf("the proof is %+v, %v", p, err)
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

package mysql_test

import (
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/outbox"
)

// TestOtherProducers is about headers that nobody has checked.
func TestOtherProducers(t *testing.T) {
	d := newOutbox(t)
	for headers, good := range map[string]bool{
		`{}`: true, `{"a": "b", "c d": "1"}`: true, `{"a": "b", "n": 1}`: false, `{"n": null}`: false, `{"n": ["1"]}`: false, `{"n": {}}`: false, `["n"]`: false, `{n`: false,
	} {
		_, err := d.app.ExecContext(t.Context(), `CALL `+d.schema+`_write('orders', '7', NULL, ?, '', NULL)`, headers)
		if good != (err == nil) || err != nil && !strings.Contains(err.Error(), "outbox: headers are") {
			t.Errorf("%s: %v", headers, err)
		}
	}
	if p, err := d.Store.Verify(t.Context(), outbox.VerifyQuery{}); err != nil || p.Events != 2 || len(p.Findings) > 0 {
		t.Errorf("the proof is %+v, %v", p, err)
	}
}

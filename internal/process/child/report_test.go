package child

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar"
)

func TestParseReport(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       *Report
		fault      string
	}{
		{
			"all", `{"class":"throttled","reason":"r","failure":"f","retry_after":"1m30s","downstream":"db","rows":[3,{"index":5,"reason":"no id"}],"later":1}` + "\n",
			&Report{Class: "throttled", Reason: "r", Failure: "f", RetryAfter: 90 * time.Second, Downstream: "db", Rows: []Row{{Index: 3}, {Index: 5, Reason: "no id"}}}, "",
		},
		{"nothing", "{}", &Report{}, ""},
		{"seconds", `{"retry_after":1.5}`, &Report{RetryAfter: 1500 * time.Millisecond}, ""},
		{"seconds as a header has them", `{"retry_after":"30"}`, &Report{RetryAfter: 30 * time.Second}, ""},
		{"null", `{"retry_after":null,"rows":null}`, &Report{}, ""},
		{"too long a wait", `{"retry_after":1e300}`, &Report{RetryAfter: MaxRetryAfter}, ""},
		{"too long a wait, in words", `{"retry_after":"100000h"}`, &Report{RetryAfter: MaxRetryAfter}, ""},
		{"a negative wait", `{"retry_after":-1}`, nil, "retry_after"},
		{"no wait", `{"retry_after":"soon"}`, nil, `retry_after is "soon"`},
		{"no number", `{"retry_after":"NaN"}`, nil, "retry_after"},
		{"an object for a wait", `{"retry_after":{}}`, nil, "retry_after"},
		{"not JSON", "oh no", nil, "invalid character"},
		{"an array", "[]", nil, "cannot unmarshal array"},
		{"two lines", "{}\n{}\n", nil, "after the first line"},
		{"one over several lines", "{\n\"reason\": \"x\"\n}", &Report{Reason: "x"}, ""},
		{"not text", "{\"reason\":\"\xff\"}", nil, "UTF-8"},
		{"an unknown class", `{"class":"doomed"}`, nil, `"doomed" is unknown`},
		{"a class that frees", `{"class":"interrupted"}`, nil, "a child may not report class"},
		{"spawn-failed", `{"class":"spawn-failed"}`, nil, "a child may not report class"},
		{"a row before the first", `{"rows":[-1]}`, nil, "rows[0].index is -1"},
		{"a row of no index", `{"rows":[{"reason":"x"}]}`, nil, "index"},
		{"a row of text", `{"rows":["1"]}`, nil, "row"},
		{"a long reason", `{"reason":"` + strings.Repeat("x", MaxReportText+1) + `"}`, nil, "reason has 8193 bytes"},
		{"too long", `{"reason":"` + strings.Repeat("x", MaxReport) + `"}`, nil, "longer than 65536 bytes"},
		{"every fault", `{"class":"x","retry_after":-1,"rows":[-1]}`, nil, "retry_after"},
	} {
		got, err := ParseReport([]byte(c.line))
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s (%v)", c.name, d, err)
		}
		if (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %v, want %q", c.name, err, c.fault)
		}
	}
}

func FuzzParseReport(f *testing.F) {
	for _, s := range []string{`{"class":"bug","retry_after":"30s","rows":[1,{"index":2}]}`, `{"retry_after":1e99}`, "{}\n{}", `{"rows":[[]]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := ParseReport(line)
		if err != nil {
			if r != nil {
				t.Errorf("%q: a report beside %v", line, err)
			}
			return
		}
		if r.RetryAfter < 0 || r.RetryAfter > MaxRetryAfter || len(r.Reason)+len(r.Failure)+len(r.Downstream) > 3*MaxReportText {
			t.Errorf("%q: %+v", line, r)
		}
		var class bezoar.Class
		if r.Class != "" && class.UnmarshalText([]byte(r.Class)) != nil {
			t.Errorf("%q: class %q", line, r.Class)
		}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var again Report
		if err := json.Unmarshal(b, &again); err != nil {
			t.Fatalf("%q: what was written, %s, is not read: %v", line, b, err)
		}
		if d := cmp.Diff(r.Rows, again.Rows); d != "" && len(r.Rows)+len(again.Rows) > 0 || r.RetryAfter != again.RetryAfter || r.Class != again.Class {
			t.Errorf("%q: %+v became %+v", line, r, again)
		}
	})
}

func TestValidateJoinsEveryFault(t *testing.T) {
	err := Config{
		Env: []string{"=x", "PASSWORD"}, Timeout: -1, Grace: -1, Memory: 1, CPU: 1, Tail: -1, Mark: "a\nb",
	}.Validate()
	for _, want := range []string{"command is", "env[0]", "env[1]", "timeout is", "grace is", "memory is", "cpu is", "tail is", "mark is"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate does not name %q: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "PASSWORD") {
		t.Errorf("Validate shows the environment: %v", err)
	}
	if err := (Config{Command: []string{"x"}}).Validate(); err != nil {
		t.Errorf("a config with only what is required: %v", err)
	}
	if _, err := New(Config{}); err == nil {
		t.Error("New takes an empty config")
	}
}

package crash

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestFold(t *testing.T) {
	for in, want := range map[string]string{
		"dial tcp 10.0.0.7:5432: connect: connection refused":                "dial tcp <ip>: connect: connection refused",
		"dial tcp [::1]:5432: i/o timeout":                                   "dial tcp [<ip>]:<int>: i/o timeout",
		"no mail for ann.b@example.org":                                      "no mail for <email>",
		"GET https://api.example.com/v1/orders/7?key=a,b: 502":               "GET <url>: <int>",
		"lookup db-1.prod.internal: no such host":                            "lookup <host>: no such host",
		"order 550e8400-e29b-41d4-a716-446655440000 is gone":                 "order <uuid> is gone",
		"bad object at 0x7ffe0960c110":                                       "bad object at <hex>",
		"commit 3f2a9c0d1e vanished":                                         "commit <hex> vanished",
		"checksum da39a3ee5e6b4b0d3255bfef95601890afd80709":                  "checksum <hex>",
		"took 1h2m3.5s, allowed 250ms":                                       "took <duration>, allowed <duration>",
		"at 2024-05-11T08:14:02.123Z and 2024-05-11 08:14:02":                "at <date> and <date> <time>",
		"open /home/ann/shop/a.txt: permission denied":                       "open <path>: permission denied",
		`cannot read C:\Users\ann\a.txt`:                                     "cannot read <path>",
		"open /tmp/go-build123/x.go":                                         "open <path>",
		"index 5 out of range -3 of 1.5e-7":                                  "index <int> out of range <int> of <float>",
		"worker-17 lost, pid=812, port=8080":                                 "worker-<int> lost, pid=<int>, port=<int>",
		"key 'ab 12' and \"x\"":                                              "key <str> and <str>",
		"undefined method `save' for nil":                                    "undefined method 'save' for nil",
		"module 'collections' has no attribute 'Callable'":                   "module 'collections' has no attribute 'Callable'",
		"No module named 'yaml'":                                             "No module named 'yaml'",
		"relation \"orders\" does not exist":                                 "relation 'orders' does not exist",
		"open file 'a.txt' failed":                                           "open file <str> failed",
		"can't do it, isn't there":                                           "can't do it, isn't there",
		"utf8 and sha256 and int32 stay, x12345 does not":                    "utf8 and sha256 and int32 stay, x<int> does not",
		"98% of 512MiB":                                                      "<int>% of <size>",
		"first\n\n  second\nthird":                                           "first second",
		"std::vector::at: __n (which is 7) >= this->size() (which is 3)":     "std::vector::at: __n (which is <int>) >= this->size() (which is <int>)",
		"java.lang.IllegalStateException: a.b.C":                             "java.lang.IllegalStateException: a.b.C",
		"key=\"v\" ok=true":                                                  "key=<str> ok=true",
		"traceparent 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0": "traceparent <int>-<hex>-<hex>-<int>",
		"":    "",
		" \n": "",
	} {
		if got := fold(in); got != want {
			t.Errorf("fold(%q)\n  = %q,\nwant %q", in, got, want)
		}
	}
}

func TestFoldIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "message")
		got := fold(s)
		if len(got) > MaxReason || !utf8.ValidString(got) || strings.Contains(got, "\n") {
			t.Fatalf("fold(%q) = %q", s, got)
		}
	})
	for _, s := range []string{strings.Repeat("a", 1<<20), strings.Repeat("\"", 5000), strings.Repeat("é", 5000), strings.Repeat("1:", 5000)} {
		if got := fold(s); len(got) > MaxReason {
			t.Errorf("%d bytes", len(got))
		}
	}
}

package crash

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// bare is what every dressing of the same failure must come down to.
const bare = `Traceback (most recent call last):
  File "/srv/shop/orders.py", line 31, in price
    return table[key]
KeyError: 'EUR'`

func dress(f func(l string) string) string {
	var out []string
	for l := range strings.SplitSeq(bare, "\n") {
		out = append(out, f(l))
	}
	return strings.Join(out, "\n") + "\n"
}

func TestSameUnderEveryDressing(t *testing.T) {
	want, err := ParseBytes([]byte(bare))
	if err != nil || want.Quality != Own || want.Type != "KeyError" {
		t.Fatalf("bare: %+v, %v", want, err)
	}
	before := func(p string) func(string) string { return func(l string) string { return p + l } }
	for name, text := range map[string]string{
		"colours":           dress(func(l string) string { return "\x1b[31m" + l + "\x1b[0m" }),
		"colours, lost esc": dress(func(l string) string { return "[1;31m" + l + "[0m" }),
		"colours, caret":    dress(func(l string) string { return "^[[31m" + l + "^[[0m" }),
		"colours, syslog":   dress(func(l string) string { return "#033[31m" + l + "#033[0m" }),
		"html": dress(func(l string) string {
			return `<font color="#FF6B6B">` + strings.ReplaceAll(l, `"`, "&quot;") + "</font>"
		}),
		"crlf":                dress(func(l string) string { return l + "\r" }),
		"progress bar":        "50%\r100%\r" + bare,
		"utf-16":              utf16le(bare),
		"byte order mark":     "\xef\xbb\xbf" + bare,
		"compose":             dress(before("web_1  | ")),
		"compose, mixed":      dress(func(l string) string { return "web_1  | " + l + "\ndb_1   | LOG:  checkpoint starting" }),
		"pm2":                 dress(before("0|shop     | ")),
		"github actions":      dress(before("2024-05-11T08:14:02.1234567Z ")),
		"github actions, gh":  dress(before("test\tRun tests\t2024-05-11T08:14:02.1234567Z ")),
		"container runtime":   dress(before("2024-05-11T08:14:02.123456789Z stderr F ")),
		"syslog":              dress(before("May 11 08:14:02 node-7 shop[812]: ")),
		"journal, iso":        dress(before("2024-05-11T08:14:02+0200 node-7 shop[812]: ")),
		"heroku":              dress(before("2024-05-11T08:14:02.123456+00:00 app[web.1]: ")),
		"level and thread":    dress(before("2024-05-11 08:14:02,123 ERROR [worker-3] ")),
		"level in bars":       dress(before("00:00:01.020 |E| ")),
		"kubectl prefix":      dress(before("[pod/shop-5d9c/app] ")),
		"quoted mail":         dress(before("> ")),
		"twice quoted":        dress(before("> > ")),
		"bars":                dress(before("| ")),
		"fence":               "It dies:\n\n```python\n" + bare + "\n```\nAny ideas?\n",
		"indented fence":      "1. It dies:\n\n    ```\n" + dress(before("    ")) + "    ```\n",
		"indented":            dress(before("    ")),
		"indented below text": "It dies:\n\n" + dress(before("    ")) + "\nwhen I start it\n",
		"test number":         dress(before("100: ")),
		"command and prompt":  "$ python orders.py\n" + bare + "\n$ \n",
		"json stack":          `{"level":"error","msg":"failed","exc_info":` + quote(bare) + "}\n",
		"json nested":         `{"level":"error","message":"failed","error":{"stack":` + quote(bare) + "}}\n",
		"docker file": dress(func(l string) string {
			return `{"log":` + quote(l+"\n") + `,"stream":"stderr","time":"2024-05-11T08:14:02Z"}`
		}),
		"escaped":             "worker said: b'x'\n" + strings.ReplaceAll(bare, "\n", `\n`) + "\n",
		"errors around":       "ERROR: retrying 3 of 5\n" + bare + "\nerror: worker ended with 1\n",
		"seconds of the past": strings.ReplaceAll(bare, "EUR", "USD") + "\n\nretrying\n" + bare + "\n",
	} {
		got, err := ParseBytes([]byte(text))
		if err != nil || got.Fingerprint != want.Fingerprint || got.Group != want.Group {
			t.Errorf("%s: %s %s %q (%v)\n%q\n%s", name, got.Type, got.Frame, got.Reason, err, got.Why, text)
		}
	}
}

func utf16le(s string) string {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// What looks like a log's column and is not must stay.
func TestPrefixesThatAreNone(t *testing.T) {
	for _, l := range []string{
		"ERROR:  relation \"orders\" does not exist",
		"FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
		"ERROR 1064 (42000) at line 22: You have an error",
		"panic: runtime error: index out of range",
		"fatal error: all goroutines are asleep - deadlock!",
		"==123==ERROR: AddressSanitizer: heap-use-after-free",
		"WARNING: ThreadSanitizer: data race (pid=1)",
		"WARNING: DATA RACE",
		"java.lang.IllegalStateException: a - b",
		"goroutine 1 [running]:",
		"thread 'main' panicked at src/main.rs:4:5:",
		"[1]    9621 abort (core dumped)  shop",
		"Exception in thread \"main\" java.lang.Error: x",
		"#0  0x000055 in main () at a.c:3",
		"2024 was a good year",
		"May I come in: error",
		"-- more --",
		"<main>: syntax error",
	} {
		for _, p := range []string{"", "2024-05-11 08:14:02 "} {
			if got, _, _ := stripPrefix(p + l); got != l {
				t.Errorf("%q became %q", p+l, got)
			}
		}
	}
}

func TestStripPrefix(t *testing.T) {
	for in, want := range map[string]string{
		"[11-May-2024 08:14:02 UTC] PHP Fatal error:  x": "PHP Fatal error:  x",
		"[Sat May 11 08:14:02.123 2024] [error] x":       "x",
		"2024/05/11 08:14:02 http: panic serving":        "http: panic serving",
		"E0511 08:14:02.123456   12345 main.go:123] x":   "x",
		"[2024-05-11T08:14:02Z ERROR shop::db] x":        "x",
		"2024-05-11 08:14:02.123 ERROR 12345 --- [nio-8080-exec-1] c.e.demo.Handler  : java.lang.IllegalStateException: full": "java.lang.IllegalStateException: full",
		"<34>1 2024-05-11T08:14:02.003Z node shop[8]: x":                                                                      "x",
		"[12345.678901] shop[8]: segfault at 0":                                                                               "shop[8]: segfault at 0",
		"08:14:02.480 [error] GenServer x terminating":                                                                        "GenServer x terminating",
		"ERROR:root:x":                                           "x",
		"May 11 08:14:02 node-7 kernel: x":                       "x",
		"2024-05-11 08:14:02,5 - shop.db - ERROR - x":            "x",
		"2024-05-11T08:14:02Z     indented":                      "    indented",
		"05/11/2024 08:14:02 PM x":                               "x",
		"##[error]x":                                             "x",
		"npm ERR! x":                                             "x",
		"11/05/2024 08:14:02.123 [main] WARN  org.Acme.Log - x":  "x",
		"[runtime] 2021-02-13 16:25:19 [error]: x":               "x",
		"1207 17:55:55.339885   50630 runtime.go:66] x":          "x",
		"2024-05-11T08:14:02Z - /srv/shop/index.js":              "- /srv/shop/index.js",
		"2024-05-11T08:14:02Z Fatal error: x":                    "Fatal error: x",
		"2024-05-11T08:14:02Z Caused by: x":                      "Caused by: x",
		"2024-05-11T08:14:02Z --- End of inner exception ---":    "--- End of inner exception ---",
		"2024-05-11T08:14:02Z [previous exception] [object] (x)": "[previous exception] [object] (x)",
		"2024-05-11T08:14:02Z E   IndexError: x":                 "E   IndexError: x",
	} {
		if got, _, _ := stripPrefix(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// Objects on several lines are joined in one pass: a hundred thousand of them
// took minutes when each moved all lines behind it.
func TestPrettyIsLinear(t *testing.T) {
	const objects = 200_000
	x := text{lines: strings.Split(strings.Repeat("{\n  \"n\": 1\n}\n", objects), "\n")}
	began := time.Now()
	x.pretty()
	if took := time.Since(began); took > 20*time.Second { // a fifth of a second is usual
		t.Errorf("took %v for %d objects", took, objects)
	}
	if len(x.lines) != objects+1 || x.lines[objects-1] != `{"n": 1 }` {
		t.Errorf("%d lines, the last %q", len(x.lines), x.lines[max(0, len(x.lines)-2):])
	}
}

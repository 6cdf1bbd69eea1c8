package supervise

import (
	"strings"
	"testing"
)

// The log names what failed, which is the last line in few languages.
func TestTheCauseOfADeath(t *testing.T) {
	for name, c := range map[string]struct{ stderr, want string }{
		"Node.js": {`file:///srv/shop/index.js:9
    r.json({pct: c.rules.pct});
                         ^

TypeError: Cannot read properties of null (reading 'pct')
    at Timeout._onTimeout (file:///srv/shop/index.js:9:26)
    at listOnTimeout (node:internal/timers:581:17)
    at process.processTimers (node:internal/timers:519:7)

Node.js v20.20.2`, "TypeError: Cannot read properties of null (reading 'pct') at Timeout._onTimeout (file:///srv/shop/index.js:9)"},
		"Go": {`panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x10 pc=0x6a1b5e]

goroutine 35 [running]:
main.main.func2.1()
	/srv/prices/main.go:26 +0x9e
created by main.main.func2 in goroutine 34
	/srv/prices/main.go:21 +0x9e`, "runtime error: invalid memory address or nil pointer dereference at main.main.func2.1 (/srv/prices/main.go:26)"},
		"Python": {`Traceback (most recent call last):
  File "/srv/app.py", line 3, in <module>
    serve()
  File "/srv/app.py", line 2, in serve
    raise KeyError("total")
KeyError: 'total'`, "KeyError: 'total' at serve (/srv/app.py:2)"},
		"words":   {"starting\nadieu\n\n", "adieu"},
		"nothing": {"", ""},
	} {
		if got := cause(strings.Split(c.stderr, "\n")); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

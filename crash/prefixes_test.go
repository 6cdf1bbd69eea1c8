package crash

import (
	"fmt"
	"strings"
	"testing"
)

// Two workers fail at once, and their lines are mixed.
func TestPrefixesOfMixedLines(t *testing.T) {
	plain := readStrangers(t, "crash-logs.ndjson")[:4]
	for _, s := range plain {
		var b strings.Builder
		for i, l := range strings.Split(strings.TrimSuffix(s.Text, "\n"), "\n") {
			fmt.Fprintf(&b, "[worker-4] GET /cart/%d 200\n[worker-3] %s\n", i, l)
		}
		if r, err := ParseBytes([]byte(b.String())); err != nil || r.Group != s.report.Group {
			t.Errorf("%s: %s (%v)", s.Name, brief(r), err)
		}
	}
}

// TestPrefixes puts what tools put before lines before the lines of a trace; %d
// is a number that grows, %[2]d its last digit. The group stays.
func TestPrefixes(t *testing.T) {
	plain := readStrangers(t, "crash-logs.ndjson")[:4]
	for _, prefix := range []string{
		"#9 2.%03d ", "#14 [build 4/7] ", "[exec] ", "     [java] ", "app: ", "2015/11/12 08:51:%02d app: ", "%d ", "%d:", "%d-", "%6d\t", "  %d  ", "[worker-3] ", "worker-3: ",
		"01-02 03:04:05.%03d  1234  1234 E AndroidRuntime: ", "E/AndroidRuntime(27147): ", "stderr: ", "stderr | ", "npm ERR! ", "[1] ", "[api] ", "api | ", "api:dev: ", "@acme/api:build: ", "> ", "| ", "│ ",
		"2024-05-01T10:00:00.%03dZ ", "2024-05-01T10:00:00.%03dZ\t6f1b2c3d-1111-2222-3333-444455556666\tERROR\t", "[pod/shop-7d9f/app] ", "shop-7d9f app ", "shop-7d9f › app ", "+ shop-7d9f › app | ",
		"[2024-05-01, 10:00:0%[2]d UTC] {subprocess.py:93} INFO - ", "24/05/01 10:00:0%[2]d ERROR Executor: ", "(pid=1234) ", "(raylet, ip=10.0.0.4) ", "\x1b[36m(f pid=77)\x1b[0m ", "[rank0]: ", "[default0]:", "    ",
		"0|shop    | ", "May  1 10:00:0%[2]d web1 shop[77]: ", "<13>May  1 10:00:0%[2]d web1 shop[77]: ", "I0501 10:00:00.%06d    77 main.go:33] ", "ts=2024-05-01T10:00:0%[2]dZ ", "[10:00:0%[2]d] [Server thread/ERROR]: ",
		"build\tstep 4\t2024-05-01T10:00:00.%03dZ ", "job-4 10:00:00.%03d | ", "\u001b[32mweb.1   |\u001b[0m ", "10:00:0%[2]d web.1  | ", "[INFO] [stderr] ", "ERROR:root:", "[E] ", "::error::", "##[error]", "remote: ", "==> default: ", "// ", "# ", "* ", "$ ",
	} {
		for _, s := range plain {
			var b strings.Builder
			for i, l := range strings.Split(strings.TrimSuffix(s.Text, "\n"), "\n") {
				p := prefix
				if strings.Contains(p, "%") {
					p, _, _ = strings.Cut(fmt.Sprintf(prefix, i+7, (i+7)%10), "%!(EXTRA")
				}
				b.WriteString(p + l + "\n")
			}
			if r, err := ParseBytes([]byte(b.String())); err != nil || r.Group != s.report.Group {
				t.Errorf("%q before %s: %s (%v)", prefix, s.Name, brief(r), err)
			}
		}
	}
}

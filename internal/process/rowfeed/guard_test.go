package rowfeed

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is read is never written to, and nothing has two kinds of text in it.
func TestFilesAreApart(t *testing.T) {
	for name, change := range map[string]func(c *Config, in string){
		"output":  func(c *Config, in string) { c.OutputPath = in },
		"letters": func(c *Config, in string) { c.Letters = File(in) },
		"state": func(c *Config, in string) {
			c.State, c.OutputPath = filepath.Join(filepath.Dir(in), "s"), filepath.Join(filepath.Dir(in), "s")
		},
		"two outputs": func(c *Config, in string) { c.OutputPath, c.Letters = in+".out", File(in+".out") },
		"another name": func(c *Config, in string) {
			if err := os.Link(in, in+".link"); err != nil {
				t.Fatal(err)
			}
			c.OutputPath = in + ".link"
		},
	} {
		text := strings.TrimSuffix(numbers(30), "\n")
		in := write(t, "in", text)
		cfg := Config{Input: in, Command: awk("$1==7")}
		change(&cfg, in)
		_, r, err := sifted(t, "", cfg)
		if _, refused := errors.AsType[*InputError](err); !refused || !strings.Contains(err.Error(), "are one file") || r.Runs > 0 {
			t.Errorf("%s: %v after %d runs", name, err, r.Runs)
		}
		if now, err := os.ReadFile(in); err != nil || string(now) != text {
			t.Errorf("%s: %v, the input is now %q", name, err, now)
		}
	}
}

// Letters to what never ends, and cannot be read, are only written.
func TestLettersToADevice(t *testing.T) {
	_, r, err := sifted(t, numbers(30), Config{Command: awk("$1==7"), Letters: File("/dev/full")})
	if err == nil || !strings.Contains(err.Error(), "write a dead letter") || r.Total != 1 {
		t.Errorf("%v, %d letters", err, r.Total)
	}
}

// A state that is damaged elsewhere than at its end is not gone on with, nor one
// whose output is no longer there.
func TestDamagedState(t *testing.T) {
	dir := t.TempDir()
	in, state, out := write(t, "in", numbers(60)), filepath.Join(dir, "s"), filepath.Join(dir, "out")
	cfg := Config{Input: in, State: state, OutputPath: out, Batch: 10, Command: awk("$1==33")}
	if _, _, err := sifted(t, "", cfg); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	records := bytes.SplitAfter(whole, []byte("\n"))
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"a bit of the second record": {replaced(whole, len(records[0])+20, "~"), "damaged at byte"},
		"a line's end":               {replaced(whole, len(records[0])-1, " "), "not a state file"},
		"the end is cut off":         {whole[:len(whole)-4], ""},
		"zeros before a whole record": {
			bytes.Join([][]byte{whole[:len(whole)-len(records[len(records)-2])], make([]byte, 20), []byte("\n"), records[1]}, nil), "",
		},
	} {
		if err := os.WriteFile(state, c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := sifted(t, "", cfg)
		if _, refused := errors.AsType[*InputError](err); refused != (c.want != "") || refused && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if now, err := os.ReadFile(out); err != nil || string(now) != without(60, 33) {
			t.Errorf("%s: %v, the output is now %q", name, err, now)
		}
	}

	waits := must(encode(record{Done: [][2]int{{50, 60}}, Held: &[2]int64{0, 30}}))
	if err := os.WriteFile(state, append(bytes.Clone(records[0]), waits...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := sifted(t, "", cfg); err == nil || !strings.Contains(err.Error(), "30 of output wait there: was it deleted?") {
		t.Errorf("without the file of held-back output: %v", err)
	}
}

func replaced(text []byte, at int, by string) []byte {
	out := bytes.Clone(text)
	copy(out[at:], by)
	return out
}

// What a run says and nobody understands may have named bad rows: it is run in
// parts until they can be told.
func TestReportsThatAreNotUnderstood(t *testing.T) {
	list := `{ cat; echo; } | awk 'NF { n++ } $1%2 { r = r sep "{\"index\":" n-1 ",\"reason\":\"'"$(printf %0900d 7)"'\"}"; sep="," } NF { print $1 } END { print "{\"rows\":[" r "]}" > "/proc/self/fd/3" }'`
	out, r, err := sifted(t, numbers(400), Config{Command: sh(list)})
	if err != nil || r.Total != 200 || out != numbers(400) {
		t.Errorf("too long: %v, %d letters, %d runs", err, r.Total, r.Runs)
	}
	_, r, err = sifted(t, numbers(20), Config{Command: sh(`cat; echo '{"rows":[20]}' >&3`)})
	if err == nil || !strings.Contains(err.Error(), "it is the command") || r.Total != 0 {
		t.Errorf("a row that is not there: %v, %d letters", err, r.Total)
	}
}

package template_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"
	texttemplate "text/template"
	"time"

	"github.com/bezoar-dev/bezoar/internal/flow/template"
)

// funcs are functions with parameters of several types.
func funcs() template.Funcs {
	return template.Funcs{
		"json":  func(v any) (string, error) { b, err := json.Marshal(v); return string(b), err },
		"lower": strings.ToLower,
		"join":  func(sep string, all []string) string { return strings.Join(all, sep) },
		"lines": func(s string) []string { return strings.Split(s, "\n") },
		"date":  func(layout string, t time.Time) string { return t.Format(layout) },
		"times": func(s string, n int) string { return strings.Repeat(s, min(n, 100)) },
	}
}

// data has what templates of flows are filled in with.
func data() map[string]any {
	due := time.Date(2026, 2, 28, 23, 59, 58, 123456789, time.FixedZone("X", 3600))
	return map[string]any{
		"params": map[string]string{"day": "2026-02-28", "empty": "", "html": `<a href="x">&'`},
		"item":   "one\ntwo", "index": 3, "env": nil,
		"run":   map[string]any{"id": "r-1", "time": due, "early": due.Add(-time.Hour), "flow": "f"},
		"tasks": map[string]any{"a-b": map[string]any{"output": "x", "outputs": []string{"x", "y", "z"}}, "none": map[string]any{"outputs": []string{}}},
		"other": []any{1, "two", nil, 2.5, true, []string{"deep"}}, "map": map[string]any{}, "yes": true, "no": false, "uint": uint8(7), "float": 1.5, "far": int64(1 << 40),
	}
}

// both executes a template with this package and with text/template.
func both(t testing.TB, text string) (got, want string, err, wantErr error) {
	t.Helper()
	given := data()
	theirs, wantErr := texttemplate.New("").Option("missingkey=error").Funcs(texttemplate.FuncMap(funcs())).Parse(text)
	if wantErr == nil {
		var b strings.Builder
		if wantErr = theirs.Execute(&b, given); wantErr == nil {
			want = b.String()
		}
	}
	ours, err := template.Parse(text, funcs())
	if err == nil {
		got, err = ours.Execute(given)
	}
	return got, want, err, wantErr
}

// A template means what it means to text/template. These templates work.
func TestMeaningOfTemplates(t *testing.T) {
	for _, text := range []string{
		"", "plain", "{{/* comment */}}", " a {{- 1 -}} b ", "{{.index}} {{.item}} {{.env}} {{.run.id}}", "{{$}}", "{{.}}", "{{.params.day}}", "{{.params.empty}}|",
		`{{index .tasks "a-b" "outputs" 1}}`, `{{(index .tasks "a-b").output}}`, `{{index .params "nosuch"}}`, `{{index .run "nosuch"}}`, `{{index .other 5 0}}`,
		`{{index .item 0}}`, `{{slice .item 1}} {{slice .item 1 2}} {{slice .item}} {{slice (index .tasks "a-b" "outputs") 0 1 2}}`, `{{index .map}}`,
		`{{len .item}} {{len .params}} {{len .other}} {{len ""}}`, `{{.run.time}} {{.run.time.Year}} {{.run.time.Month}} {{.run.time.Unix}}`,
		`{{.run.time.Format "2006-01-02"}}`, `{{(.run.time.AddDate 0 0 -1).Format "Jan 2"}}`, `{{(.run.time.Add 3600000000000).Hour}}`,
		`{{.run.time.Sub .run.early}} {{(.run.time.Sub .run.early).Hours}}`, `{{.run.time.UTC.Weekday}} {{.run.time.Month.String}} {{.run.time.Location}}`,
		`{{"2006" | .run.time.Format}}`, `{{if .run.time.After .run.early}}later{{end}}`, `{{.run.time.In .run.early.Location}}`, `{{printf "%d" .run.time.Month}}`,
		`{{printf "%s" .run.time.MarshalText}}`, `{{.run.time.Truncate 3600000000000}}`, `{{eq .run.time .run.time}} {{.run.time.IsZero}}`,
		`{{if .yes}}a{{else}}b{{end}} {{if .no}}a{{else if .index}}c{{else}}b{{end}}`, `{{if .env}}a{{else}}b{{end}}{{if .map}}a{{else}}b{{end}}{{if .float}}a{{end}}`,
		`{{with .item}}{{.}}{{else}}none{{end}}`, `{{with .env}}{{.}}{{else with .run}}{{.id}}{{end}}`, `{{with $x := .index}}{{$x}}{{.}}{{end}}`,
		`{{range .other}}[{{.}}]{{end}}`, `{{range $i, $v := .other}}{{$i}}={{$v}} {{end}}`, `{{range $k, $v := .params}}{{$k}}:{{$v}};{{end}}`, `{{range .params}}{{.}}{{end}}`,
		`{{range $x := .tasks.none.outputs}}{{$x}}{{else}}empty{{end}}`, `{{range 3}}{{.}}{{end}} {{range $i := 3}}{{$i}}{{end}} {{range .env}}x{{else}}nil{{end}}`,
		`{{range .uint}}{{.}}{{end}}{{range 0}}x{{else}}zero{{end}}`, `{{range .other}}{{if eq (printf "%v" .) "two"}}{{continue}}{{end}}{{if not .}}{{break}}{{end}}{{.}}{{end}}`,
		`{{range 3}}{{range 3}}{{if .}}{{break}}{{end}}{{.}}{{end}}{{end}}`, `{{range 2}}{{with 1}}{{continue}}{{end}}x{{end}}`,
		`{{$x := 1}}{{$x}}{{$x = "a"}}{{$x}}{{if true}}{{$x := 2}}{{$x}}{{end}}{{$x}}`, `{{$x := 1}}{{range $x = .other}}{{$x}}{{end}}{{$x}}`, `{{$i := 0}}{{$v := 0}}{{range $i, $v = .other}}{{end}}{{$i}}{{$v}}`,
		`{{$t := .run.time}}{{$t.Year}} {{$.index}} {{$.run.id}}`, `{{define "T"}}<{{.}}{{$}}>{{end}}{{template "T" .item}}{{template "T"}}`, `{{block "B" .index}}({{.}}){{end}}`,
		`{{define "R"}}{{if .}}{{len .}}{{template "R" slice . 1}}{{end}}{{end}}{{template "R" "abc"}}`, `{{define ""}}{{end}}x`, `{{define "E"}} {{end}}{{template "E"}}`,
		`{{and 1 0 2}} {{or 0 "" "x" nil}} {{and 1 2}} {{or 0 0}} {{not .yes}} {{1 | and 2}} {{0 | or}} {{or .index .nosuch}} {{and .no .nosuch}}`,
		`{{print 1 2 "a" "b" nil}} {{println "x" .index}}{{printf "%5.2f|%q|%v|%d" 1.5 "x" .params 7}}`, `{{html .params.html}} {{js .params.html}} {{urlquery .params.html "b c"}} {{html .index .env}}`,
		`{{eq 1 1}} {{eq "a" "b" "a"}} {{eq .uint 7}} {{eq 7 .uint}} {{ne 1 2}} {{lt 1 2}} {{le 2 2}} {{gt "b" "a"}} {{ge 1.5 1.5}} {{lt -1 .uint}} {{gt .uint -1}} {{eq .env nil}} {{eq nil nil}} {{eq .item nil}} {{eq .far 1099511627776}} {{lt .uint 8}} {{eq 1i 1i}}`,
		`{{1}} {{-1}} {{0x10}} {{1e3}} {{1.0}} {{'a'}} {{1_000}} {{0b11}} {{0o17}} {{1i}} {{0x1p4}} {{true}} {{"a\n"}} {{` + "`raw`" + `}}`,
		`{{json .}} {{.params | json}} {{lower "ABC"}} {{"ABC" | lower | printf "%s-%s" "x"}} {{join "," (lines .item)}} {{.item | lines | join "+"}} {{date "15:04" .run.time}} {{times "ab" 3}} {{lines .item}}`,
		`{{(index .other 0)}} {{((1))}} {{(printf "%d" 1) | printf "%s%s" "a"}} {{(.run).id}} {{(index .other 5)}}`, "{{if true}}\n  x\n{{- end}}", `{{/* a */ -}} x`, `{{len (slice "héé" 1)}}`,
	} {
		got, want, err, wantErr := both(t, text)
		if err != nil || wantErr != nil || got != want {
			t.Errorf("%s\n  here %q, %v\n  text/template %q, %v", text, got, err, want, wantErr)
		}
	}
}

// What text/template refuses is refused here, in nearly all cases by the same words.
func TestErrorsOfTemplates(t *testing.T) {
	for text, says := range map[string]string{
		"{{": "", "{{nosuch 1}}": "", "{{end}}": "", "{{$x}}": "", "{{break}}": "", "{{.a": "", `{{define "a"}}x{{end}}{{define "a"}}y{{end}}`: "", "{{nil}}": "", "{{1 | 2}}": "", "{{.item.}}": "",
		"a\n{{.nosuch}}":         `template: :2:2: executing "" at <.nosuch>: map has no entry for key "nosuch"`,
		"{{.params.nosuch}}":     `template: :1:9: executing "" at <.params.nosuch>: map has no entry for key "nosuch"`,
		"{{.tasks.a.output}}":    `template: :1:8: executing "" at <.tasks.a.output>: map has no entry for key "a"`,
		`{{(index .map "x").y}}`: "", "{{.env.x}}": "", "{{.item.x}}": `can't evaluate field x in type `, "{{.index.x.y}}": "", "{{.run.time.Nosuch}}": "", "{{.run.time.Clock}}": "",
		"{{.run.time.Zone}}": "", "{{.run.time.Format}}": "wrong number of args for Format: want 1 got 0", `{{.run.time.Format 1}}`: "expected string; found 1", `{{.run.time.Format "a" "b"}}`: "wrong number of args for Format: want 1 got 2",
		`{{.run.time.AddDate 0 0 "x"}}`: `expected integer; found "x"`, `{{.run.time.AddDate 0 0 1.5}}`: "expected integer; found 1.5", `{{.run.time.After .item}}`: "wrong type for value; expected time.Time; got string",
		`{{lower 1}}`: "expected string; found 1", `{{lower .index}}`: "expected string; got int", `{{lower nil}}`: "cannot assign nil to string", `{{lower true}}`: "", `{{join "," "x"}}`: `can't handle "x" for arg of type []string`,
		`{{date "x" "y"}}`: "", `{{join "," nil}}{{lower .env}}`: "", `{{join 1 2}}`: "", `{{times "x" -1}}`: "error calling times: strings: negative Repeat count", `{{.item "x"}}`: "item is not a method but has arguments", `{{1 2}}`: "can't give argument to non-function 1",
		`{{(1) 2}}`: "", `{{$ 1}}`: "", `{{.yes | .no}}`: "no is not a method but has arguments", `{{index .other 6}}`: "error calling index: ", `{{index .other 7}}`: "error calling index: index out of range: 7", `{{index .other -1}}`: "error calling index: index out of range: -1",
		`{{index .other "x"}}`: "cannot index slice/array with type string", `{{index .params 1}}`: "value has type int; should be string", `{{index .env}}`: "index of untyped nil", `{{index .index 1}}`: "can't index item of type int",
		`{{index .other nil}}`: "cannot index slice/array with nil", `{{index .params nil}}`: "value is nil; should be of type string", `{{index}}`: "wrong number of args for index: want at least 1 got 0", `{{index .other 2 1}}`: "index of nil pointer",
		`{{slice .item 9}}`: "index out of range: 9", `{{slice .item 2 1}}`: "invalid slice index: ", `{{slice .item 0 1 2}}`: "cannot 3-index slice a string", `{{slice .index}}`: "can't slice item of type int", `{{slice .env}}`: "", `{{slice .item 0 1 2 3}}`: "too many slice indexes: 4",
		`{{len 1}}`: "error calling len: len of type int", `{{len .env}}`: "", `{{len}}`: "wrong number of args for len: want 1 got 0", `{{1 | len 2}}`: "wrong number of args for len: want 1 got 2", `{{not}}`: "", `{{and}}`: "wrong number of args for and: want at least 1 got 0",
		`{{eq 1}}`: "error calling eq: missing argument for comparison", `{{eq 1 "a"}}`: "error calling eq: incompatible types for comparison", `{{eq .params .params}}`: "", `{{eq .other nil .other}}`: "", `{{eq .run.time 1}}`: "", `{{lt true false}}`: "error calling lt: invalid type for comparison", `{{lt 1 "a"}}`: "incompatible types",
		`{{lt .env 1}}`: "invalid type for comparison", `{{ge 1 nil}}`: "", `{{gt nil 1}}`: "", `{{lt 1i 2i}}`: "", `{{eq 1 1.5}}`: "", `{{eq .params .other}}`: "", `{{range 1.5}}{{end}}`: "range can't iterate over 1.5", `{{range .yes}}{{end}}`: "range can't iterate over true", `{{range "abc"}}{{end}}`: "",
		`{{range $a, $b := 3}}{{end}}`: "can't use 3 to iterate over more than one variable", `{{range .run.time}}{{end}}`: "", `{{template "nosuch"}}`: `template "nosuch" not defined`, `{{define "T"}}{{.nosuch}}{{end}}{{template "T" .run}}`: `executing "T" at <.nosuch>: map has no entry for key "nosuch"`,
		`{{99999999999999999999}}`: "", `{{18446744073709551615}}`: "18446744073709551615 overflows int", `{{print 18446744073709551615}}`: "", `{{call .item}}`: "error calling call: ", `{{call .env 1}}`: "error calling call: ", `{{call lower "x"}}`: "", `{{call}}`: "", `{{html}}{{.x}}`: "", `{{or .nosuch 1}}`: "", `{{if .nosuch}}{{end}}`: "",
		`{{.run.time.In nil}}`: "error calling In: time: missing Location in call to Time.In", `{{.run.time.Month.Nosuch}}`: "", `{{lower.x}}`: "", `{{(lower "x").y}}`: "", `{{index .other 1 | lower | len | lower}}`: "", `{{json .run.time.Format}}`: "",
	} {
		got, _, err, wantErr := both(t, text)
		if err == nil || wantErr == nil {
			t.Errorf("%s\n  here %q, %v\n  text/template %v", text, got, err, wantErr)
			continue
		}
		if !strings.Contains(err.Error(), says) || !strings.Contains(wantErr.Error(), says) {
			t.Errorf("%s\n  here %v\n  text/template %v\n  want %s", text, err, wantErr, says)
		}
		if where, _, _ := strings.Cut(wantErr.Error(), ">: "); !strings.HasPrefix(err.Error(), where) {
			t.Errorf("%s\n  here %v\n  text/template %v", text, err, wantErr)
		}
	}
}

// Every method that text/template finds on what data contains is found here.
func TestMethodsOfTimes(t *testing.T) {
	due := data()["run"].(map[string]any)["time"].(time.Time)
	arguments := map[reflect.Type]string{
		reflect.TypeFor[time.Time](): ".", reflect.TypeFor[string](): `"2006"`, reflect.TypeFor[int](): "1", reflect.TypeFor[time.Duration](): "7",
		reflect.TypeFor[*time.Location](): "nil", reflect.TypeFor[[]byte](): "nil",
	}
	tried := 0
	for _, of := range []any{due, due.Month(), due.Weekday(), time.Hour, due.Location()} {
		typ := reflect.TypeOf(of)
		for m := range typ.Methods() {
			text := "{{.v." + m.Name
			for j := 1; j < m.Type.NumIn(); j++ {
				arg := arguments[m.Type.In(j)]
				if arg == "." {
					arg = ".v"
				}
				text += " " + arg
			}
			text += "}}"
			theirs := texttemplate.Must(texttemplate.New("").Parse(text))
			var want strings.Builder
			wantErr := theirs.Execute(&want, map[string]any{"v": of})
			ours, err := template.Parse(text, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ours.Execute(map[string]any{"v": of})
			if (err != nil) != (wantErr != nil) || err == nil && got != want.String() {
				t.Errorf("%T: %s\n  here %q, %v\n  text/template %q, %v", of, text, got, err, want.String(), wantErr)
			}
			tried++
		}
	}
	if tried < 50 {
		t.Errorf("only %d methods were tried", tried)
	}
}

// Results, steps and depth are bounded, and so is each text on the way.
func TestBounds(t *testing.T) {
	big := map[string]any{"s": strings.Repeat("x", template.MaxBytes), "one": "x"}
	for text, says := range map[string]string{
		"{{.s}}":         "",
		"{{.s}}{{.one}}": "the result is longer than 1048576 bytes",
		"{{.s}}x":        "the result is longer than 1048576 bytes",
		"{{$x := .s}}{{range 40}}{{$x = print $x $x}}{{end}}":                         `executing "" at <print $x $x>: error calling print: the result is longer than 1048576 bytes`,
		"{{range 100000000}}{{end}}":                                                  "the template takes more than 5000000 steps",
		`{{define "A"}}{{template "A"}}{{end}}{{template "A"}}`:                       "exceeded maximum template depth (1000)",
		`{{define "A"}}{{template "A"}}{{template "A"}}{{end}}{{range 1000}}x{{end}}`: "",
	} {
		tmpl, err := template.Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tmpl.Execute(big)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

// Own functions come before those that are built in, and executing a template leaves it as it was.
func TestTemplatesAreUnchanged(t *testing.T) {
	own := funcs()
	own["len"] = func(string) string { return "own" }
	before := maps.Clone(own)
	tmpl, err := template.Parse(`{{len "x"}}{{range 2}}{{.}}{{end}}`, own)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := tmpl.Execute(nil); got != "own01" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if len(before) != len(own) {
		t.Error("the functions were changed")
	}
}

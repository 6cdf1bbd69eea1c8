package brokers

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	env := func(name string) string { return map[string]string{UserVar: "env", PasswordVar: "hush"}[name] }
	for text, want := range map[string]string{
		"kafka://a/t":                       "a:9|t|env:hush",
		"kafka://a:1,b,[::1]:2,[::2]/t?x=1": "a:1 b:9 [::1]:2 [::2]:9|t|env:hush",
		"kafka://u:p%40%2Fs@a/t":            "a:9|t|u:p@/s",
		"kafka://u:p@ss@a:1/deep/er":        "a:1|deep/er|u:p@ss",
		"kafka://u@a":                       "a:9||u:",
		"amqp://user:word@127.0.0.1:5672/":  "127.0.0.1:5672||user:word",
	} {
		a, err := Parse(text, "9", env)
		if got := strings.Join(a.Hosts, " ") + "|" + a.Name + "|" + a.User + ":" + a.Password; err != nil || got != want {
			t.Errorf("%s is %s (%v), want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "kafka", "kafka:///t", "kafka://a:b/t", "kafka://a,,b/t", "kafka://a:0/t", "kafka://a:99999/t", "kafka://u:hush%zz@a/t", "kafka://a/t?x=%zz", "kafka://a b/t"} {
		if a, err := Parse(text, "9", nil); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q is %+v (%v), want an error without secrets", text, a, err)
		}
	}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	a, err := Parse("kafka://u:hush@a/t?group=g&typo=1", "9", nil)
	if err != nil {
		t.Fatal(err)
	}
	if g := a.Param("group"); g != "g" {
		t.Errorf("the group is %q", g)
	}
	if err := a.Rest(); err == nil || !strings.Contains(err.Error(), "typo") || !strings.Contains(err.Error(), "group") {
		t.Errorf("typo: %v, want it named, and what there is", err)
	}
	if s := a.String(); s != "kafka://a:9/t" {
		t.Errorf("shown as %s", s)
	}
	for query, told := range map[string]string{
		"ca=/no/such": "ca: ", "cert=/no/such": "set both", "cert=/no/such&key=/no/such": "cert, key: ", "tls=maybe&typo=1": "tls=maybe",
		"start=middle": "start=middle", "wait=5": "wait=5", "n=0": "n=0", "n=x": "n=x",
	} {
		a, err := Parse("kafka://a/t?"+query, "9", nil)
		if err != nil {
			t.Fatal(err)
		}
		a.TLS(false)
		a.Latest()
		a.Duration("wait", "1m")
		a.Number("n", 1, 10, "number")
		if err := a.Rest(); err == nil || !strings.Contains(err.Error(), told) {
			t.Errorf("%s: %v, want %q named", query, err, told)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("kafka://u:p@a:1,b/t?x=1")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Parse(text, "9", nil)
		if err == nil && (len(a.Hosts) == 0 || strings.Contains(a.String(), "@") && !strings.Contains(a.Name+a.Scheme, "@")) {
			t.Errorf("%q is %+v", text, a)
		}
	})
}

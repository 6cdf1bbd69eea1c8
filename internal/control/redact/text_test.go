package redact_test

import (
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/control/redact"
)

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                            "",
		"panic: boom":                 "panic: boom",
		"token=hush in it":            "token=[redacted] in it",
		"Authorization: Bearer a.b.c": "Authorization: [redacted]",
		`-H "Authorization: Basic dTpodXNo" http://h/`: `-H "Authorization: [redacted]" http://h/`,
		`"cookie": "a=b; c=d"`:                         `"cookie": [redacted]`,
		"got Bearer abcdef.ghi from /x":                "got Bearer [redacted] from /x",
		"basic authentication failed":                  "basic authentication failed",
		"Basic dTpodXNo":                               "Basic [redacted]",
		"/x?api_key=hush&q=1":                          "/x?api_key=[redacted]&q=1",
		`{"password":"hush hush","n":1}`:               `{"password":[redacted],"n":1}`,
		"dial postgres://me:hush@db/x: refused":        "dial postgres://me:[redacted]@db/x: refused",
		"redis://:hush@cache:6379/0":                   "redis://:[redacted]@cache:6379/0",
		"postgres://me:hu/sh@db/x":                     "postgres://me:[redacted]@db/x",
		"postgres://me:hu@sh@db/x":                     "postgres://me:[redacted]@db/x",
		"https://ghp_0123456789abcdefghij@github.com/": "https://[redacted]@github.com/",
		"postgres://me@db/x":                           "postgres://me@db/x",
		"http://h:80/users/@me":                        "http://h:80/users/@me",
		"http://h/users/@me":                           "http://h/users/@me",
		"jwt eyJhbGciOi.eyJzdWIi.c2ln in it":           "jwt [redacted] in it",
		"https://hooks.slack.com/services/T0/B0/hush":  "https://hooks.slack.com/[redacted]",
		"https://discord.com/api/webhooks/1/hush":      "https://discord.com/api/webhooks/[redacted]",
		"./app --password hush --mode fast":            "./app --password [redacted] --mode fast",
		"./app --password --mode fast":                 "./app --password --mode fast",
		"MYSQL_PWD=hush mysql -u me":                   "MYSQL_PWD=[redacted] mysql -u me",
		"a token is needed":                            "a token is needed",
		"KeyError: 'name'":                             "KeyError: 'name'",
		"exit code: 5":                                 "exit code: 5",
		"password: [redacted]":                         "password: [redacted]",
		"password=" + redact.Bare:                      "password=" + redact.Bare,
		"index out of range [5] with length 3":         "index out of range [5] with length 3",
	} {
		got := redact.Text(in, redact.Hidden)
		if got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
		if again := redact.Text(got, redact.Hidden); again != got {
			t.Errorf("%q became %q the second time", got, again)
		}
	}
	if got := redact.Settings("password: two words, mode: fast", redact.Secret); got != "password: (secret), mode: fast" {
		t.Errorf("settings became %q", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add("/x?a=1&")
	f.Add(`{"a":"b",`)
	f.Add("--mode ")
	f.Fuzz(func(t *testing.T, before string) {
		const secret = "s3cr3tvalue"
		if got := redact.Text(before+"\n token="+secret+"\n", redact.Hidden); strings.Contains(got, secret) && !strings.Contains(before, secret[:3]) {
			t.Errorf("%q", got)
		}
	})
}

func BenchmarkText(b *testing.B) {
	for _, c := range []struct{ what, line string }{
		{"innocent", "2026-01-01 12:00:00 INFO served /search in 3 ms to 192.0.2.1 with the status 200, and nothing else"},
		{"secret", "2026-01-01 12:00:00 INFO served /search?token=open-sesame in 3 ms to 192.0.2.1 with the status 200"},
	} {
		b.Run(c.what, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				redact.Text(c.line, redact.Hidden)
			}
		})
	}
}

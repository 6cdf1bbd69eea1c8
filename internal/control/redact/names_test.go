package redact_test

import (
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/control/redact"
)

func TestNamesOfWhatCallersSend(t *testing.T) {
	n := redact.NewNames([]string{"Ssn", ""})
	for name, want := range map[string]bool{
		"Authorization": true, "Proxy-Authorization": true, "Cookie": true, "Set-Cookie": true, "X-Api-Key": true, "apikey": true,
		"X-Auth-Token": true, "client_secret": true, "Password": true, "passwd": true, "X-Session-Id": true, "PHPSESSID": true,
		"X-Hub-Signature-256": true, "X-Amz-Credential": true, "X-CSRF": true, "sig": true, "X-My-SSN": true,
		"Idempotency-Key": false, "Sec-WebSocket-Key": false, "Accept": false, "q": false, "page": false, "signal": false, "User-Agent": false,
		"": false, "MYSQL_PWD": true, "dsn": true, "a-sort-key": true, "Sort-Key": false,
	} {
		if got := n.Secret(name); got != want {
			t.Errorf("Secret(%q) = %v", name, got)
		}
	}
	if got := testing.AllocsPerRun(100, func() { n.Secret("X-Forwarded-For-The-Whole-Way") }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func TestNamesOfSettings(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"DB_PASSWORD": true, "MYSQL_PWD": true, "password": true, "api-token": true, "API_KEY": true, "secretKeyBase": true, "AUTH_HEADER": true,
		"DATABASE_URL": true, "SENTRY_DSN": true, "pass": true, "DB_PASS": true, "AWS_SECRET_ACCESS_KEY": true, "X-Api-Key": true,
		"PWD": false, "OLDPWD": false, "key": false, "code": false, "MAX_TOKENS": false, "TOKENIZERS_PARALLELISM": false, "secret_env": false,
		"TOKEN_FILE": false, "MODE": false, "KeyError": false, "AuthenticationException": false, "idempotency-key": false, "": false,
	} {
		if got := redact.Setting(name); got != want {
			t.Errorf("Setting(%q) = %v", name, got)
		}
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{"/", "/"},
		{"/?", "/?"},
		{"/?a=b&", "/?a=b&"},
		{"/?a=b;token=c&d", "/?a=b;token=[redacted]&d"},
		{"/?Tok%65n=c", "/?Tok%65n=[redacted]"},
		{"/?access_token=a=b", "/?access_token=[redacted]"},
		{"/?to=http://u:p@h/x", "/?to=[redacted]"},
		{"/?to=http%3A%2F%2Fu%3Ap%40h%2F", "/?to=[redacted]"},
		{"/?to=http://h/x@y", "/?to=http://h/x@y"},
		{"/go/http://u:p@h/x", "/go/http://[redacted]@h/x"},
		{"/?token", "/?token"},
		{"/?%zz=1&key=2", "/?%zz=1&key=[redacted]"},
	} {
		if got := redact.NewNames(nil).Target(tc.in); got != tc.want {
			t.Errorf("Target(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

// FuzzTarget checks that a secret value never comes through.
func FuzzTarget(f *testing.F) {
	f.Add("/a?b=c", "&")
	f.Add("/a?", "")
	f.Add("/?x=http://u@h", ";")
	f.Fuzz(func(t *testing.T, head, sep string) {
		const secret = "s3cr3tvalue"
		if strings.Contains(head+sep, secret) {
			return
		}
		got := redact.NewNames(nil).Target(head + "?" + sep + "&token=" + secret)
		if strings.Contains(got, secret) {
			t.Fatalf("%q", got)
		}
	})
}

package config

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/control/redact"
)

func hashed(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:2])
}

// TestNamesOfSettingsAreNoSecrets: a key of the settings that is shown hidden would
// show nothing.
func TestNamesOfSettingsAreNoSecrets(t *testing.T) {
	t.Parallel()
	secret := map[string]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(typ.Elem())
		case reflect.Struct:
			if !isScalar(typ) {
				for _, f := range fieldsOf(typ) {
					secret[f.key] = redact.Setting(f.key)
					walk(typ.Field(f.index).Type)
				}
			}
		default:
		}
	}
	walk(reflect.TypeFor[Config]())
	if len(secret) < 100 {
		t.Errorf("only %d keys", len(secret))
	}
	for key, is := range secret {
		if is {
			t.Errorf("%s would be hidden", key)
		}
	}
}

const clear = `# store: postgres://bezoar:hunter2-old@db/bezoar
store: postgres://bezoar:hunter2@db.internal/bezoar?sslpassword=hunter2&sslmode=require
admin_token_file: /etc/token
admin_token_env: ADMIN_TOKEN
fleets:
  app:
    command: [./app, --api-token=hunter2, --mode=fast, --password, hunter2, sh, -c, "DB_TOKEN=hunter2 ./x"]
    env: {DB_PASSWORD: hunter2, AUTH_HEADER: 'it''s hunter2', "MODE": fast, API_KEY: "hun\"ter2"}
  é:
    workers: ["http://u:hunter2@10.0.0.1:80"]
    env:
      LONG_SECRET: >
        hunter2
        hunter2
      PLAIN_SECRET: hunter2 goes
        over hunter2
      OTHER: x # the db_password: hunter2
access_keys:
  AKID: hunter2hunter2
  OTHER: {secret_env: AK_SECRET}
routes: [{match: {path: /*}, fleet: app}]
# hunter2hunter2 is the one of AKID
--- # bezoar file "guard.yaml"
classes: {x: {match: {api_key: [k1], header: ["Authorization: hunter2", "X-Team: a"]}}}
# password: hunter2
`

func TestNoSecretIsLeft(t *testing.T) {
	got := string(Redact([]byte(clear), hashed))
	if strings.Contains(got, "hunter2") || strings.Contains(got, "ter2") {
		t.Errorf("a secret is left in\n%s", got)
	}
	for _, want := range []string{
		"admin_token_file: /etc/token\n", "admin_token_env: ADMIN_TOKEN\n", "--mode=fast", "OTHER: x # the", `"MODE": fast`, "fleet: app}]\n", "AK_SECRET",
		"DB_PASSWORD: (secret; 7 bytes; f52f)", "postgres://bezoar:(secret; 7 bytes; f52f)@db.internal/bezoar?sslpassword=(secret; 7 bytes; f52f)&sslmode=require",
		"api_key: [k1]", "X-Team: a", "http://u:(secret; 7 bytes; f52f)@10.0.0.1:80", "AKID: (secret; 14 bytes; ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if !WasRedacted([]byte(got)) || WasRedacted([]byte(clear)) {
		t.Error("what was redacted is not recognised")
	}
	if again := string(Redact([]byte(got), hashed)); again != got {
		t.Errorf("again:\n%s", again)
	}
}

func TestWhatIsNoYAMLIsRedactedByLines(t *testing.T) {
	got := string(Redact([]byte("a: [\npassword: hunter2\nenv: {DB_TOKEN: 'hunter2', X: y}\nurl: x://u:hunter2@h/\n"), hashed))
	if strings.Contains(got, "hunter2") || !strings.Contains(got, "X: y") {
		t.Errorf("%s", got)
	}
}

func TestWhatHoldsNoSecretIsShownAsItIs(t *testing.T) {
	for _, text := range []string{
		"", "x", "\n", "fleets: {a: {command: [./a, -p=1]}}\nroutes: [{match: {path: /*}, fleet: a, client: 'header:X-Api-Key'}]\n",
		"routes:\n  - match: {path: /auth/*}\n    limits: [{key: \"header:X-Api-Key\", rate: 1/s}]\n",
	} {
		if got := string(Redact([]byte(text), hashed)); got != text {
			t.Errorf("%q is %q", text, got)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add(clear)
	f.Add("password: |\n  a\n")
	f.Add("a: \"\\")
	f.Add("password: '\n---")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			return
		}
		_ = Redact([]byte(text), hashed)
		secret := "s3cr3tw0rd"
		if strings.ContainsAny(text, "'\"\n") {
			return
		}
		whole := "fleets: {a: {env: {DB_PASSWORD: " + secret + "}}}\n# " + text + "\n"
		if got := string(Redact([]byte(whole), hashed)); strings.Contains(got, secret) && !strings.Contains(text, secret[:4]) {
			t.Errorf("%q", got)
		}
	})
}

// An access key may have the name of what says names.
func TestAKeyNamedLikeASettingIsASecret(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"access_keys: {queues: hunter2hunter2}\n", "access_keys:\n  actions: {secret: hunter2hunter2}\n",
		"routes:\n- request_headers:\n    set: {client: token=hunter2hunter2}\n",
	} {
		if got := string(Redact([]byte(text), hashed)); strings.Contains(got, "hunter2") {
			t.Errorf("shown: %s", got)
		}
	}
	const names = "access_keys:\n  AKID: {secret_env: X, queues: [orders-token], actions: [SendMessage]}\n"
	if got := string(Redact([]byte(names), hashed)); got != names {
		t.Errorf("hidden: %s", got)
	}
}

package sigv4_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/queue/sigv4"
)

func TestEveryFaultIsNamed(t *testing.T) {
	many := map[string]sigv4.Secret{}
	for i := range 1001 {
		many[fmt.Sprintf("K%d", i)] = "s"
	}
	for _, tt := range []struct {
		c    sigv4.Config
		want []string
	}{
		{sigv4.Config{}, nil},
		{sigv4.Config{Keys: map[string]sigv4.Secret{"AKID-1_a/b.c": "s"}, MaxSkew: 24 * time.Hour, Signed: []string{"X-Bezoar-Outcome"}}, nil},
		{
			sigv4.Config{
				Keys: map[string]sigv4.Secret{"": "s", "a b": "s", "c": "", strings.Repeat("x", 129): "s"}, Service: "s/q",
				MaxSkew: -1, MaxBody: -1, Signed: []string{"a b"},
			},
			[]string{`Keys: the access key id ""`, `"a b"`, `"c" has no secret`, `"xxxx`, "Service:", "MaxSkew:", "MaxBody:", "Signed:"},
		},
		{sigv4.Config{MaxSkew: 25 * time.Hour}, []string{"MaxSkew: 25h0m0s"}},
		{sigv4.Config{Keys: many}, []string{"Keys: 1001 keys, at most 1000"}},
	} {
		err := tt.c.Validate()
		if (err == nil) != (tt.want == nil) {
			t.Errorf("%v: %v", tt.c, err)
		}
		for _, want := range tt.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not say %s", err, want)
			}
		}
		if _, err := sigv4.New(tt.c); (err == nil) != (tt.want == nil) {
			t.Errorf("New: %v", err)
		}
	}
}

// However a configuration, a verifier or what holds them is printed, the secret
// is not in it.
func TestSecretsAreNeverPrinted(t *testing.T) {
	c := sigv4.Config{Keys: map[string]sigv4.Secret{exampleKey: exampleSecret}, Signed: []string{"x-bezoar-outcome"}}
	v := newVerifier(t, c)
	type holder struct {
		Config   sigv4.Config
		Verifier *sigv4.Verifier
		Keys     map[string]sigv4.Secret
	}
	var logged bytes.Buffer
	texts := map[string]string{}
	for name, value := range map[string]any{
		"config": c, "pointer": &c, "verifier": v, "keys": c.Keys, "secret": c.Keys[exampleKey], "holder": holder{c, v, c.Keys},
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			texts[name+" "+verb] = fmt.Sprintf(verb, value)
		}
		slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "value", value)
		slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "value", value)
		b, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		texts[name+" JSON"] = string(b)
	}
	texts["logged"] = logged.String()
	for name, text := range texts {
		if strings.Contains(text, exampleSecret) || strings.Contains(text, fmt.Sprintf("%x", exampleSecret)) {
			t.Errorf("%s: %s", name, text)
		}
	}
	want := "service sqs, skew 15m0s, bodies up to 8388608 bytes, keys [AKIDEXAMPLE=***], signed [X-Bezoar-Outcome]"
	if c.String() != want || v.String() != want {
		t.Errorf("%s\n%s\nwant %s", c, v, want)
	}
	if s := c.Keys[exampleKey]; string(s) != exampleSecret {
		t.Error("the secret is gone")
	}
}

// Whoever changes the map afterwards changes nothing.
func TestTheVerifierKeepsItsOwnKeys(t *testing.T) {
	keys := map[string]sigv4.Secret{exampleKey: exampleSecret}
	v := newVerifier(t, sigv4.Config{Keys: keys})
	delete(keys, exampleKey)
	s := client()
	if err := v.Verify(s.sign(t, request(t, "GET", "/", ""), ""), nil, s.at); err != nil {
		t.Error(err)
	}
}

package config

import (
	"slices"
	"testing"
)

// Nothing that Bezoar starts sees the secrets of outboxes.
func TestSecretsOfOutboxes(t *testing.T) {
	c := Config{Outbox: map[string]Outbox{"shop": {
		DatabaseEnv: "SHOP_DATABASE",
		Sinks:       []OutboxSink{{To: "https://example.com/in#mode=batched&secret_env=HOOK&token_env=TOKEN"}, {To: "queue:a"}, {To: "https://example.com/#x=secret_env"}},
	}}}
	if got := c.SecretVariables(); !slices.Equal(got, []string{"HOOK", "SHOP_DATABASE", "TOKEN"}) {
		t.Errorf("the variables are %q", got)
	}
}

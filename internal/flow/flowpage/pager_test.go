package flowpage

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/triage/tell"
)

func pager(t *testing.T, secret tell.Secret) *Pager {
	t.Helper()
	p, err := New(Config{Secret: secret, Teller: tell.New(tell.Config{Environ: os.Environ()})})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func incident(hooks ...flow.Hook) flow.Incident {
	return flow.Incident{
		Kind: flow.KindDeadLetter, Flow: "orders", Run: "r1", Group: "g1", Task: "load", Index: 2, Item: "oslo", Class: "bug",
		Reason: "KeyError: 'price'\nand more", Why: "the same failure 2 times", Dead: 1, Held: 2, Letter: "r1/load/2/2", Due: time.Unix(0, 0), At: time.Unix(1, 0), Hooks: hooks,
	}
}

// A webhook and a command get the same document; what has taken it is not told
// again when the other one fails.
func TestAPageIsToldOnceToEachHook(t *testing.T) {
	type told struct {
		id, signature string
		body          []byte
	}
	got := make(chan told, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- told{r.Header.Get(tell.EventHeader), r.Header.Get(tell.SignatureHeader), body}
	}))
	defer server.Close()
	dir := t.TempDir()
	command := flow.Hook{Command: []string{"/bin/sh", "-c", `cat > "$0/doc"; echo "$BEZOAR_RUN $BEZOAR_KIND $BEZOAR_TASK" > "$0/env"; test -e "$0/well"`, dir}}
	p, i := pager(t, "hush"), incident(flow.Hook{Webhook: server.URL}, command)
	if err := p.Page(t.Context(), i); err == nil || !strings.Contains(err.Error(), "run /bin/sh") {
		t.Errorf("a command that fails: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "well"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Page(t.Context(), i); err != nil {
		t.Errorf("the second time: %v", err)
	}
	if len(got) != 1 {
		t.Fatalf("the webhook was told %d times, want once", len(got))
	}
	first := <-got
	var doc Document
	if err := json.Unmarshal(first.body, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.ID == "" || doc.ID != first.id || doc.Run != "r1" || doc.Task != "load" || doc.Index != 2 || doc.Held != 2 {
		t.Errorf("the document is %s with the id %s", first.body, first.id)
	}
	if want := "orders: task load is a dead letter, 2 held: KeyError: 'price'"; doc.Text != want {
		t.Errorf("the text is %q, want %q", doc.Text, want)
	}
	if !strings.HasPrefix(first.signature, "t=") {
		t.Errorf("the signature is %q", first.signature)
	}
	body, err := os.ReadFile(filepath.Join(dir, "doc"))
	if err != nil || string(body) != string(first.body)+"\n" {
		t.Errorf("the command got %s, %v", body, err)
	}
	env, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil || string(env) != "r1 dead-letter load\n" {
		t.Errorf("the command's environment is %q, %v", env, err)
	}
	// Another group is another page; the same one after a restart has the same id.
	i.Group = "g2"
	if err := p.Page(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	if second := <-got; second.id == first.id {
		t.Errorf("two groups have the id %s", second.id)
	}
	i.Group = "g1"
	if err := pager(t, "").Page(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	if again := <-got; again.id != first.id || again.signature != "" {
		t.Errorf("after a restart the id is %s, want %s; the signature %q", again.id, first.id, again.signature)
	}
}

func TestWhatAPageSays(t *testing.T) {
	for kind, want := range map[string]string{
		flow.KindDeadline: "orders: the deadline cannot be kept: KeyError", flow.KindTimeout: "orders: the timeout of task load is too short: KeyError",
		flow.KindBackfill: "orders: the backfill has halted: KeyError", flow.KindFailure: "orders: the run has failed: KeyError",
	} {
		i := incident()
		i.Kind = kind
		if got := sentence(i); !strings.HasPrefix(got, want) {
			t.Errorf("%s says %q, want %q", kind, got, want)
		}
	}
	i := incident()
	i.Dead = 3
	text := letter(&Document{ID: "x", Text: sentence(i), Incident: i})
	for _, want := range []string{"3 instances of task load are dead letters", "bezoar flow show r1", "bezoar flow logs r1 load", "bezoar flow retry r1 load", "bezoar flow skip r1 load", "KeyError: 'price'\n         and more"} {
		if !strings.Contains(text, want) {
			t.Errorf("the mail has no %q:\n%s", want, text)
		}
	}
}

func TestAMailNeedsAServer(t *testing.T) {
	err := pager(t, "").Page(t.Context(), incident(flow.Hook{Mail: "ops@example.com"}))
	if err == nil || !strings.Contains(err.Error(), "mail server") {
		t.Errorf("without a server: %v", err)
	}
}

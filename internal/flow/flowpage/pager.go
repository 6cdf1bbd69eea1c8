package flowpage

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/triage/tell"
)

// maxTold is the most hooks remembered as notified.
const maxTold = 10_000

// Config configures a Pager.
type Config struct {
	Teller *tell.Teller
	Secret tell.Secret  // signs webhooks; "": unsigned
	Log    *slog.Logger // also receives pages; nil discards
}

// Pager notifies the hooks of an incident. It is safe for concurrent use.
type Pager struct {
	c Config

	mu   sync.Mutex // guards the fields below
	told map[string]bool
}

var _ flow.Pager = (*Pager)(nil)

func New(c Config) (*Pager, error) {
	if c.Teller == nil {
		return nil, errors.New("set up pages of flows: Teller: is missing")
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return &Pager{c: c, told: map[string]bool{}}, nil
}

// Document is the JSON that webhooks and commands get. New versions only add fields.
type Document struct {
	ID   string `json:"id"`   // the same each time that it is told
	Text string `json:"text"` // one sentence for people
	flow.Incident
}

// Page notifies every hook. Its error names those that failed.
func (p *Pager) Page(ctx context.Context, i flow.Incident) error {
	doc := Document{ID: idOf(i), Text: sentence(i), Incident: i}
	body, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("page about run %s: %w", i.Run, err)
	}
	p.c.Log.Warn("a flow needs a person", "flow", i.Flow, "run", i.Run, "kind", i.Kind, "task", i.Task, "text", doc.Text)
	var failures []error
	for n, h := range i.Hooks {
		key := fmt.Sprint(doc.ID, "/", n)
		if p.was(key) {
			continue
		}
		if err := p.hook(ctx, h, &doc, body); err != nil {
			failures = append(failures, err)
			continue
		}
		p.note(key)
	}
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("page about run %s: %w", i.Run, err)
	}
	return nil
}

func (p *Pager) hook(ctx context.Context, h flow.Hook, doc *Document, body []byte) error {
	switch {
	case h.Webhook != "":
		return p.c.Teller.Post(ctx, tell.Webhook{URL: h.Webhook, Secret: p.c.Secret}, doc.ID, body)
	case h.Mail != "":
		return p.c.Teller.Mail(ctx, tell.Message{ID: doc.ID, To: h.Mail, Subject: "[bezoar] " + doc.Text, Text: letter(doc)})
	default:
		env := []string{
			"BEZOAR_EVENT=" + doc.ID, "BEZOAR_KIND=" + doc.Kind, "BEZOAR_FLOW=" + doc.Flow, "BEZOAR_RUN=" + doc.Run, "BEZOAR_TASK=" + doc.Task,
		}
		return p.c.Teller.Run(ctx, h.Command, env, append(slices.Clip(body), '\n')) // a line, for a file of them
	}
}

func (p *Pager) was(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told[key]
}

func (p *Pager) note(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.told) >= maxTold {
		clear(p.told) // the engine has stored what was sent
	}
	p.told[key] = true
}

func idOf(i flow.Incident) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", i.Flow, i.Run, i.Kind, i.Group))
	return hex.EncodeToString(sum[:8])
}

// sentence describes an incident in one line.
func sentence(i flow.Incident) string {
	what := i.Reason
	what = cmp.Or(what, i.Why)
	what, _, _ = strings.Cut(strings.TrimSpace(what), "\n")
	switch i.Kind {
	case flow.KindDeadLetter:
		of := "task " + i.Task + " is a dead letter"
		if i.Dead > 1 {
			of = fmt.Sprintf("%d instances of task %s are dead letters", i.Dead, i.Task)
		}
		if i.Held > 0 {
			of += fmt.Sprintf(", %d held", i.Held)
		}
		return fmt.Sprintf("%s: %s: %s", i.Flow, of, what)
	case flow.KindDeadline:
		return fmt.Sprintf("%s: the deadline cannot be kept: %s", i.Flow, what)
	case flow.KindTimeout:
		return fmt.Sprintf("%s: the timeout of task %s is too short: %s", i.Flow, i.Task, what)
	case flow.KindBackfill:
		return fmt.Sprintf("%s: the backfill has halted: %s", i.Flow, what)
	default:
		return fmt.Sprintf("%s: the run has failed: %s", i.Flow, what)
	}
}

// letter returns the text of a mail.
func letter(d *Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", d.Text)
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-8s %s\n", name, strings.ReplaceAll(value, "\n", "\n         "))
		}
	}
	field("Flow", d.Flow)
	field("Run", d.Run)
	field("Due", d.Due.Format(time.RFC3339))
	field("Task", d.Task)
	field("Item", d.Item)
	field("Class", d.Class)
	field("Reason", d.Reason)
	field("Decided", d.Why)
	field("Group", d.Group)
	field("Letter", d.Letter)
	b.WriteString("\nSee what happened:\n  bezoar flow show " + d.Run + "\n")
	if d.Task == "" {
		return b.String()
	}
	fmt.Fprintf(&b, "  bezoar flow logs %s %s\n\nWhen the cause is fixed:\n  bezoar flow retry %s %s\nTo go on without it:\n  bezoar flow skip %s %s\n",
		d.Run, d.Task, d.Run, d.Task, d.Run, d.Task)
	return b.String()
}

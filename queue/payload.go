package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"runtime"
	"sync"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/queue/schema"
)

// maxRules bounds the cache of compiled settings. Only queues that ignore paths or have a schema need an entry.
const maxRules = 512

// maxSchemas bounds the bytes of the schemas that are kept compiled. Compiled, they take up to a hundred times as much.
const maxSchemas = 512 << 10

// maxChecks bounds how many bodies are checked against schemas at once: each check
// may take a processor for half a second, and 85 MB.
const maxChecks = 4

// rules are what a queue's settings compile to.
type rules struct {
	version int64
	text    int // bytes of the schema
	printer *fingerprint.Printer
	schema  *schema.Schema // nil: none
	turns   chan struct{}  // of checks against schemas, of all queues
}

// ruleCache keeps the rules of queues by their ID.
type ruleCache struct {
	key   fingerprint.Key
	plain *fingerprint.Printer // of queues without rules of their own
	turns chan struct{}        // of checks against schemas

	mu      sync.Mutex // guards what follows; never held while waiting
	rules   map[int64]rules
	schemas int // bytes of the schemas of rules
}

func newRuleCache(key fingerprint.Key) (*ruleCache, error) {
	plain, err := fingerprint.New(key, fingerprint.Config{MaxBody: MaxBytes})
	if err != nil {
		return nil, err
	}
	turns := make(chan struct{}, min(runtime.GOMAXPROCS(0), maxChecks))
	return &ruleCache{key: key, plain: plain, turns: turns, rules: make(map[int64]rules)}, nil
}

// of returns the rules of a queue. If settings no longer compile, they are ignored, and nobody is refused for them.
func (b *ruleCache) of(q *Queue) (rules, error) {
	s := &q.Settings
	if s.Schema == "" && len(s.Quarantine.Ignore) == 0 {
		return rules{printer: b.plain}, nil
	}
	b.mu.Lock()
	r, ok := b.rules[q.ID]
	b.mu.Unlock()
	if ok && r.version == q.Version {
		return r, nil
	}
	r, err := b.compile(q)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.schemas -= b.rules[q.ID].text
	delete(b.rules, q.ID)
	if len(b.rules) >= maxRules || b.schemas+r.text > maxSchemas {
		clear(b.rules)
		b.schemas = 0
	}
	b.rules[q.ID] = r
	b.schemas += r.text
	return r, err
}

// validate is Settings.Validate, except that a schema waits for its turn to be compiled.
func (b *ruleCache) validate(s Settings) error {
	if s.Schema != "" {
		b.turns <- struct{}{}
		defer func() { <-b.turns }()
	}
	return s.Validate()
}

func (b *ruleCache) compile(q *Queue) (rules, error) {
	r := rules{version: q.Version, printer: b.plain, turns: b.turns}
	if ignore := q.Settings.Quarantine.Ignore; len(ignore) > 0 {
		p, err := fingerprint.New(b.key, ignoring(ignore))
		if err != nil {
			return r, err
		}
		r.printer = p
	}
	if text := q.Settings.Schema; text != "" {
		b.turns <- struct{}{}
		defer func() { <-b.turns }()
		s, err := schema.Compile(text)
		if err != nil {
			return r, err
		}
		r.schema, r.text = s, len(text)
	}
	return r, nil
}

// ignoring returns the fingerprint settings for JSON payloads with volatile paths.
func ignoring(paths []string) fingerprint.Config {
	c := fingerprint.Config{MaxBody: MaxBytes, Ignore: make([]string, len(paths))}
	for i, path := range paths {
		c.Ignore[i] = "json:" + path
	}
	return c
}

// payload returns the fingerprint by which a message is recognised: see [Identify]. For a body that is shorter than
// q.MinBytes it includes the message's id, so that it counts for that message alone. Zero means that the message is not
// recognised.
func (r *rules) payload(q *Quarantine, id string, body []byte, attributes map[string]Attribute) bezoar.Fingerprint {
	switch {
	case q.Off:
		return bezoar.Fingerprint{}
	case len(body) < q.MinBytes:
		work, _ := r.printer.Work(&fingerprint.Input{Path: "/message/" + id, Complete: true})
		return work
	}
	return Identify(r.printer, body, attributes)
}

// Identify returns the fingerprint of a body: of its canonical form if it is JSON,
// whatever its content type says, or else of its bytes. Attributes count only if the body
// is brief: they may be all that tells two messages apart.
func Identify(p *fingerprint.Printer, body []byte, attributes map[string]Attribute) bezoar.Fingerprint {
	in := fingerprint.Input{ContentType: "application/json", Body: body, Complete: true, Length: int64(len(body))}
	if Brief(body) && len(attributes) > 0 {
		if doc, err := json.Marshal(attributes); err == nil { // sorted by name; it never fails
			sum := sha256.Sum256(doc)
			in.Path = "/attributes/" + hex.EncodeToString(sum[:])
		}
	}
	work, _ := p.Work(&in)
	return work
}

// Brief reports whether a body is so short that many different messages may have it: an
// id, "ok", {}. It is recognised like any other body, but its quarantine ends sooner: see
// poison.Case.Brief.
func Brief(body []byte) bool { return len(body) < BriefBytes }

package queue

import (
	"sync"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/schema"
)

// maxRules bounds the compiled settings that are kept. Only queues that ignore
// paths or have a schema need any of their own.
const maxRules = 512

// rules are what a queue's settings compile to.
type rules struct {
	version int64
	printer *fingerprint.Printer
	schema  *schema.Schema // nil: none
}

// ruleCache keeps the rules of queues by their ID.
type ruleCache struct {
	key   fingerprint.Key
	plain *fingerprint.Printer // of queues without rules of their own

	mu    sync.Mutex // guards rules; never held while waiting
	rules map[int64]rules
}

func newRuleCache(key fingerprint.Key) (*ruleCache, error) {
	plain, err := fingerprint.New(key, fingerprint.Config{MaxBody: MaxBytes})
	if err != nil {
		return nil, err
	}
	return &ruleCache{key: key, plain: plain, rules: make(map[int64]rules)}, nil
}

// of returns the rules of a queue. Settings that do not compile, though they
// did when they were set, count as if they were not there: nobody is refused
// for them.
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
	if len(b.rules) >= maxRules {
		clear(b.rules)
	}
	b.rules[q.ID] = r
	return r, err
}

func (b *ruleCache) compile(q *Queue) (rules, error) {
	r := rules{version: q.Version, printer: b.plain}
	if ignore := q.Settings.Quarantine.Ignore; len(ignore) > 0 {
		p, err := fingerprint.New(b.key, ignoring(ignore))
		if err != nil {
			return r, err
		}
		r.printer = p
	}
	if text := q.Settings.Schema; text != "" {
		s, err := schema.Compile(text)
		if err != nil {
			return r, err
		}
		r.schema = s
	}
	return r, nil
}

// ignoring is how payloads are recognised whose JSON holds volatile paths.
func ignoring(paths []string) fingerprint.Config {
	c := fingerprint.Config{MaxBody: MaxBytes, Ignore: make([]string, len(paths))}
	for i, path := range paths {
		c.Ignore[i] = "json:" + path
	}
	return c
}

// payload is the identity of a body: of its canonical form if it is JSON,
// whatever its sender calls it, else of its bytes. Attributes do not belong to
// it. Zero means that the body is not recognised.
func (r *rules) payload(q *Quarantine, body []byte) bezoar.Fingerprint {
	least := q.MinBytes
	if least == 0 {
		least = DefaultMinBytes
	}
	if q.Off || len(body) < least {
		return bezoar.Fingerprint{}
	}
	work, _ := r.printer.Work(&fingerprint.Input{
		ContentType: "application/json", Body: body, Complete: true, Length: int64(len(body)),
	})
	return work
}

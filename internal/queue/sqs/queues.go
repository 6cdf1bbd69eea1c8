package sqs

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

func (c *call) createQueue() error {
	name := c.req.QueueName
	if name == "" {
		return absent("QueueName")
	}
	fifo := c.req.Attributes["FifoQueue"] == "true"
	switch {
	case fifo && (!validName(name) || !strings.HasSuffix(name, ".fifo")):
		return parameter.text("The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix and be 1 to 80 in length")
	case !fifo && (!validName(name) || strings.HasSuffix(name, ".fifo")):
		return parameter.text("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}
	existing, err := c.h.engine.Queue(c.ctx, name)
	if errors.Is(err, queue.ErrQueueNotFound) {
		s := queue.DefaultSettings()
		s.FIFO = fifo
		change := settingsChange{Settings: &s, ctx: c.ctx, name: name, call: c}
		if err := change.apply(c.req.Attributes); err != nil {
			return err
		}
		existing, err = c.h.engine.CreateQueue(c.ctx, name, s, c.req.Tags)
	}
	switch {
	case errors.Is(err, queue.ErrQueueExists): // another call created it meanwhile
	case err != nil:
		return err
	}
	if err := c.same(existing); err != nil {
		return err
	}
	c.out.text("QueueUrl", c.url(name))
	return nil
}

// same returns a fault unless the queue has the given attributes. Others may have any value.
func (c *call) same(q queue.Queue) error {
	for _, name := range slices.Sorted(maps.Keys(c.req.Attributes)) {
		s := q.Settings
		change := settingsChange{Settings: &s, ctx: c.ctx, name: q.Name, call: c}
		if err := change.apply(map[string]string{name: c.req.Attributes[name]}); err != nil {
			return err
		}
		if !s.Equal(q.Settings) && !c.looksSame(name, q, s) {
			return queueExists.text("A queue already exists with the same name and a different value for attribute %s", name)
		}
	}
	return nil
}

// looksSame reports whether an attribute shows the same value for a queue and for other settings: a default may also be
// written explicitly.
func (c *call) looksSame(name string, q queue.Queue, s queue.Settings) bool {
	a := c.h.attributes[name]
	was, now := view{Queue: q, arn: c.arn}, view{Queue: queue.Queue{Name: q.Name, Settings: s}, arn: c.arn}
	return a.get(&was) == a.get(&now)
}

func (c *call) deleteQueue() error { return c.h.engine.DeleteQueue(c.ctx, c.queue.Name) }

func (c *call) getURL() error {
	if c.req.QueueName == "" {
		return absent("QueueName")
	}
	if !validName(c.req.QueueName) {
		return noQueue()
	}
	q, err := c.h.engine.Queue(c.ctx, c.req.QueueName)
	if err != nil {
		return err
	}
	c.out.text("QueueUrl", c.url(q.Name))
	return nil
}

func (c *call) getAttributes() error {
	v := view{Queue: c.queue, arn: c.arn}
	all := slices.Contains(c.req.Names, "All")
	for _, name := range c.req.Names {
		switch _, known := c.h.attributes[name]; {
		case name == "All" || known:
		case strings.HasPrefix(name, "Bezoar"):
			return attributeName.text("Unknown Attribute %.100s.%s", name, c.h.suggest(name))
		default:
			return unknownAttribute(name)
		}
	}
	if all || slices.ContainsFunc(c.req.Names, counted) {
		var err error
		if v.counts, err = c.h.engine.Counts(c.ctx, c.queue.Name); err != nil {
			return err
		}
	}
	if all || slices.Contains(c.req.Names, heldAttribute) {
		var err error
		if v.held, err = c.h.engine.Held(c.ctx, c.queue.Name); err != nil {
			return err
		}
	}
	standard := &c.h.defaults[0]
	if v.Settings.FIFO {
		standard = &c.h.defaults[1]
	}
	c.out.table("Attributes")
	for _, name := range c.h.order {
		named := slices.Contains(c.req.Names, name)
		if !all && !named {
			continue
		}
		a := c.h.attributes[name]
		value := a.get(&v)
		if value != "" && (named || !a.quiet || value != a.get(standard)) {
			c.out.pair("Attribute", "Name", name, value)
		}
	}
	c.out.endTable()
	return nil
}

func (c *call) setAttributes() error {
	if len(c.req.Attributes) == 0 {
		return absent("Attribute.Name")
	}
	_, err := c.h.engine.SetSettings(c.ctx, c.queue.Name, func(s *queue.Settings) error {
		change := settingsChange{Settings: s, ctx: c.ctx, name: c.queue.Name, call: c}
		return change.apply(c.req.Attributes)
	})
	return err
}

// maxListed is the most queues of an answer.
const maxListed = 1000

func (c *call) listQueues() error {
	return c.list("QueueUrls", queue.ListQuery{Prefix: c.req.Prefix})
}

func (c *call) listSources() error {
	// The member's name begins with a small letter on AWS too.
	return c.list("queueUrls", queue.ListQuery{DeadLetter: c.queue.Name})
}

// list answers with a page of queues. Only requests that limit pages get a next page.
func (c *call) list(member string, q queue.ListQuery) error {
	limit := c.req.MaxResults.or(maxListed)
	if limit < 1 || limit > maxListed {
		return invalid(limit, "MaxResults", "Must be between 1 and %d.", maxListed)
	}
	after, ok := readToken(c.req.NextToken)
	if !ok {
		return parameter.text("Invalid or expired next token.")
	}
	q.After, q.Limit = after, int(limit)
	queues, err := c.h.engine.Queues(c.ctx, q)
	if err != nil {
		return err
	}
	last := ""
	if len(queues) == q.Limit && c.req.MaxResults.set {
		q.After, q.Limit = queues[len(queues)-1].Name, 1
		more, err := c.h.engine.Queues(c.ctx, q)
		if err != nil {
			return err
		}
		if len(more) > 0 {
			last = q.After
		}
	}
	queues = slices.DeleteFunc(queues, func(q queue.Queue) bool { return !validName(q.Name) || !c.lists(q.Name) }) // the engine's own, and others'
	if len(queues) > 0 || member == "queueUrls" {
		c.out.list(member)
		for _, q := range queues {
			c.out.element("QueueUrl", c.url(q.Name))
		}
		c.out.endList()
	}
	if last != "" {
		c.out.plain("NextToken", pageToken(last))
	}
	return nil
}

// pageToken encodes the last queue of a page, with a checksum.
func pageToken(last string) string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32([]byte(last), crc32.ChecksumIEEE([]byte(last))))
}

// readToken decodes a token of pageToken; "" is the token of the first page.
func readToken(token string) (after string, ok bool) {
	if token == "" {
		return "", true
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) < 5 {
		return "", false
	}
	after = string(raw[:len(raw)-4])
	return after, pageToken(after) == token
}

func (c *call) tag() error {
	if len(c.req.Tags) == 0 {
		return absent("Tags")
	}
	_, err := c.h.engine.SetTags(c.ctx, c.queue.Name, c.req.Tags, nil)
	return err
}

func (c *call) untag() error {
	if len(c.req.TagKeys) == 0 {
		return absent("TagKeys")
	}
	_, err := c.h.engine.SetTags(c.ctx, c.queue.Name, nil, c.req.TagKeys)
	return err
}

func (c *call) listTags() error {
	c.out.table("Tags")
	for _, key := range slices.Sorted(maps.Keys(c.queue.Tags)) {
		c.out.pair("Tag", "Key", key, c.queue.Tags[key])
	}
	c.out.endTable()
	return nil
}

const purgeEvery = 60 * time.Second

// purges remembers recent purges of queues, until another one is permitted.
type purges struct {
	mu   sync.Mutex // guards last
	last map[int64]time.Time
}

// begin reports whether a queue may be purged now, and records the purge.
func (p *purges) begin(id int64, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.last, func(_ int64, at time.Time) bool { return now.Sub(at) >= purgeEvery })
	if _, purged := p.last[id]; purged {
		return false
	}
	p.last[id] = now
	return true
}

func (p *purges) failed(id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, id)
}

func (c *call) purge() error {
	if !c.h.purges.begin(c.queue.ID, time.Now()) {
		return purging.text("Only one PurgeQueue operation on %s is allowed every 60 seconds.", c.queue.Name)
	}
	err := c.h.engine.Purge(c.ctx, c.queue.Name)
	if err != nil {
		c.h.purges.failed(c.queue.ID)
	}
	return err
}

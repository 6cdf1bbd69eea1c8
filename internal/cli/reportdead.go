package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

// reportDead prints a dead letter: why it is here, what it is, what was tried.
func reportDead(p *printer, now time.Time, l triage.Letter) {
	p.printf("%s  %s\n\n", p.paint(bold, clean(l.ID)), p.paint(red, clean(l.Class.String())))
	paragraph(p, "  ", clean(l.Reason))
	where := "in " + clean(l.Queue)
	if l.Origin != "" {
		where += ", from " + clean(l.Origin)
	}
	paragraph(p, "  ", fmt.Sprintf("%s, since %s (%s), after %s; sent %s.", where, clock(now, l.Died), ago(now, l.Died),
		count(int64(l.Receives), "delivery", "deliveries"), clock(now, l.Sent)))
	field(p, "group", l.Group)
	field(p, "failure", l.Failure)
	if !l.Payload.IsZero() {
		field(p, "payload", l.Payload.String())
	}
	field(p, "message group", l.MessageGroup)
	reportLineage(p, l.Lineage, l.Discarded)
	for _, name := range slices.Sorted(maps.Keys(l.Attributes)) {
		a := l.Attributes[name]
		value := a.Value
		if len(a.Binary) > 0 {
			value = fmt.Sprintf("%d bytes", len(a.Binary))
		}
		field(p, name, value)
	}
	reportAttempts(p, now, l.Attempts)
	if l.Damaged {
		field(p, "damaged", "body and attributes have changed in the store: it is not delivered; bezoar dlq edit writes it anew")
	}
	reportBody(p, l.Body)
	if l.Discarded == nil {
		p.printf("\n%s bezoar dlq redrive %s\n", p.paint(dim, "send it again:"), clean(l.ID))
		return
	}
	p.printf("\n%s bezoar dlq restore %s\n", p.paint(dim, "take it back:"), clean(l.ID))
}

func field(p *printer, name, value string) {
	if value != "" {
		p.printf("  %s %s\n", p.paint(dim, clean(name)+":"), clean(value))
	}
}

func reportLineage(p *printer, l *queue.Lineage, d *queue.Discarded) {
	if l != nil {
		text := fmt.Sprintf("sent again %s, first as %s, last as %s", times(int64(l.Times)), l.Root, l.Parent)
		if l.Edited {
			text += ", edited"
		}
		field(p, "lineage", text)
	}
	if d != nil {
		text := "from " + d.From
		if d.Into != "" {
			text += ", replaced by " + d.Into
		}
		field(p, "discarded", text)
	}
}

func reportAttempts(p *printer, now time.Time, attempts []queue.Attempt) {
	if len(attempts) == 0 {
		return
	}
	p.printf("\n")
	t := table{head: []string{"RECEIVED", ">TOOK", "WORKER", "CLASS", "REASON"}}
	for _, a := range attempts {
		why := a.Reason
		if a.Life > 0 { // it was sent again after that
			why = strings.TrimRight(fmt.Sprintf("(life %d) %s", a.Life, why), " ")
		}
		if a.Detail != "" && a.Detail != why {
			why = strings.Trim(why+" ("+a.Detail+")", " ")
		}
		t.add(plain(clock(now, a.Received)), plain(a.Ended.Sub(a.Received).Round(time.Millisecond).String()), plain(a.Worker), plain(a.Class.String()), plain(why))
	}
	t.write(p, "  ")
	last := attempts[len(attempts)-1]
	if last.Stderr == "" {
		return
	}
	p.printf("\n  %s\n", p.paint(dim, "it wrote last:"))
	for line := range strings.Lines(last.Stderr) {
		p.printf("    %s\n", clean(strings.TrimRight(line, "\r\n")))
	}
}

// reportBody shows the beginning of a body.
func reportBody(p *printer, b *triage.Body) {
	const most = 2 << 10
	if b == nil {
		return
	}
	p.printf("\n")
	if b.Text == nil {
		p.printf("  %d bytes that are not text; --body writes them unchanged\n", b.Bytes)
		return
	}
	text := *b.Text
	cutOff := len(text) > most
	if cutOff {
		text = strings.ToValidUTF8(text[:most], "")
	}
	for line := range strings.Lines(text) {
		p.printf("  %s\n", clean(strings.TrimRight(line, "\r\n")))
	}
	if cutOff {
		p.printf("  … %d bytes in all; --body writes them unchanged\n", b.Bytes)
	}
}

package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// reportVerdict prints a verdict: what, why, the evidence, and what to do about it.
func reportVerdict(p *printer, now time.Time, v bezoar.Verdict) {
	st := stateCell(v.State)
	p.printf("%s  ", p.paint(bold, clean(v.ID)))
	for i, line := range wrap(standing(now, v), p.columns()-len(v.ID)-2) {
		if i > 0 {
			p.printf("%s", strings.Repeat(" ", len(v.ID)+2))
		}
		p.printf("%s\n", p.paint(st.style, line))
	}
	p.printf("\n  %s\n", clean(adminapi.HeldText(&v)))
	where := "fleet " + clean(v.Fleet)
	if v.Route != "" {
		where += ", route " + clean(v.Route)
	}
	if v.Node != "" {
		where += ", decided by node " + clean(v.Node)
	}
	p.printf("  %s\n\n", p.paint(dim, where))
	paragraph(p, "  ", clean(v.Reason))
	refused := "refused"
	if v.ReportOnly {
		refused = "would have been refused"
	}
	paragraph(p, "  ", fmt.Sprintf("Blame %.2f, convicted %s, since %s (%s); %s %s.", v.Score, times(int64(v.Level)),
		clock(now, v.Since), ago(now, v.Since), count(v.Refused, "copy", "copies"), refused))
	reportWhy(p, v.Why)
	reportDifference(p, v)
	reportEvidence(p, now, v.Evidence)
	reportPrints(p, v.Fingerprint, v.Variant, v.Shape)
	p.printf("\n%s bezoar quarantine release %s\n", p.paint(dim, "lift it:"), clean(v.ID))
}

// reportWhy writes the sentences that explain a verdict.
func reportWhy(p *printer, why []string) {
	if len(why) == 0 {
		return
	}
	p.printf("\n%s\n\n", p.paint(bold, "Why"))
	for _, sentence := range why {
		for i, line := range wrap(clean(sentence), p.columns()-4) {
			mark := " "
			if i == 0 {
				mark = "-"
			}
			p.printf("  %s %s\n", mark, line)
		}
	}
}

// reportDifference prints what all killers have and no success has.
func reportDifference(p *printer, v bezoar.Verdict) {
	if v.Scope != bezoar.ScopeFeature || v.State == bezoar.Laned || v.Killers == 0 {
		return
	}
	what := v.Features
	if len(what) == 0 && !v.Client.IsZero() {
		what = []string{"caller " + v.Client.Short() + "…"}
	}
	p.printf("\n%s\n\n", p.paint(bold, "The difference"))
	t := table{head: []string{"WHAT", ">KILLERS", ">SUCCESSES"}}
	for _, f := range what {
		t.add(plain(f), plain(fmt.Sprintf("%d of %d", v.Killers, v.Killers)), plain(fmt.Sprintf("0 of %d", v.Successes)))
	}
	t.write(p, "  ")
}

func standing(now time.Time, v bezoar.Verdict) string {
	text := map[bezoar.State]string{
		bezoar.Suspected:   "suspect: runs alone in the lane until it is cleared",
		bezoar.Probing:     "probing: one real copy is being tried in the lane",
		bezoar.Conditional: "conditional: kills only under load, so it runs in the lane",
		bezoar.Laned:       "laned: unproven work of this kind runs in the lane",
	}[v.State]
	if v.State == bezoar.Laned && v.Pace > 0 {
		text += fmt.Sprintf(", at most %.3g a second", v.Pace)
	}
	switch {
	case v.State == bezoar.Quarantined:
		text = fmt.Sprintf("quarantined: refused until %s (%s)", clock(now, v.Until), until(now, v.Until))
		if v.ReportOnly {
			text = fmt.Sprintf("would be quarantined until %s (%s), but its route only reports", clock(now, v.Until), until(now, v.Until))
		}
	case text == "":
		text = clean(string(v.State))
	}
	if covers := adminapi.Covers(&v); covers != "" {
		text += ", for " + clean(covers)
	}
	if v.Manual {
		text += ", by an operator"
	}
	return text
}

// reportLetter prints a dead letter: the request, then why it is here.
func reportLetter(p *printer, now time.Time, l bezoar.Letter) {
	p.printf("%s  %s\n\n", p.paint(bold, clean(l.ID)), p.paint(red, clean(l.Class.String())))
	paragraph(p, "  ", clean(l.Reason))
	times := fmt.Sprintf("%s, last %s (%s)", count(l.Copies, "copy", "copies"), clock(now, l.Last), ago(now, l.Last))
	if !l.First.Equal(l.Last) {
		times += ", first " + clock(now, l.First)
	}
	where := "fleet " + clean(l.Fleet)
	if l.Route != "" {
		where += ", route " + clean(l.Route)
	}
	if l.Verdict != "" {
		where += ", verdict " + clean(l.Verdict)
	}
	p.printf("  %s\n  %s\n", p.paint(dim, where), p.paint(dim, times))
	reportRequest(p, l.Request)
	reportEvidence(p, now, l.Evidence)
	reportPrints(p, l.Fingerprint, l.Variant, l.Shape)
	if l.Request.Truncated {
		p.printf("\n%s bezoar dlq discard %s\n", p.paint(dim, "delete it:"), clean(l.ID))
		return
	}
	if missing := l.Request.Missing(); len(missing) > 0 {
		p.printf("\n")
		paragraph(p, "", clean("A redrive sends it without "+adminapi.WithoutText(missing)+": it may not be the same request."))
	}
	p.printf("\n%s bezoar dlq redrive %s\n", p.paint(dim, "try it again:"), clean(l.ID))
}

// maxPreview bounds what a report shows of a body.
const maxPreview = 2 << 10

func reportRequest(p *printer, r bezoar.Request) {
	p.printf("\n%s\n\n", p.paint(bold, "Request"))
	p.printf("  %s %s\n", clean(r.Method), clean(r.Target))
	if r.Host != "" {
		p.printf("  Host: %s\n", clean(r.Host))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			p.printf("  %s: %s\n", clean(name), clean(value))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Trailer)) {
		for _, value := range r.Trailer[name] {
			p.printf("  %s: %s %s\n", clean(name), clean(value), p.paint(dim, "(trailer)"))
		}
	}
	if r.Client != "" {
		p.printf("  %s\n", p.paint(dim, "from "+clean(r.Client)))
	}
	if len(r.Body) == 0 {
		return
	}
	p.printf("\n")
	shown := r.Body[:min(len(r.Body), maxPreview)]
	for line := range strings.SplitSeq(strings.TrimSuffix(string(shown), "\n"), "\n") {
		p.printf("  %s\n", cut(clean(strings.TrimSuffix(line, "\r")), p.columns()-2))
	}
	switch {
	case r.Truncated:
		p.printf("  %s\n", p.paint(dim, fmt.Sprintf("… %d of %s bytes were kept: it cannot be sent again", len(r.Body), bodySize(r.BodySize))))
	case len(shown) < len(r.Body):
		p.printf("  %s\n", p.paint(dim, fmt.Sprintf("… %d bytes more; --body writes them all", len(r.Body)-len(shown))))
	}
}

// bodySize formats a size that may be unknown.
func bodySize(n int64) string {
	if n < 0 {
		return "an unknown number of"
	}
	return fmt.Sprint(n)
}

func reportEvidence(p *printer, now time.Time, evidence []bezoar.Evidence) {
	if len(evidence) == 0 {
		return
	}
	p.printf("\n%s\n", p.paint(bold, "Evidence, newest first"))
	for _, e := range slices.Backward(evidence) {
		who := fmt.Sprintf("%s, epoch %d", clean(e.Worker), e.Epoch)
		if e.Worker == "" {
			who = fmt.Sprintf("epoch %d", e.Epoch)
		}
		p.printf("\n  %s  %s: %s\n", clock(now, e.At), who, p.paint(red, clean(endOf(e))))
		paragraph(p, "    ", circumstances(e))
		if len(e.Stderr) > 0 {
			p.printf("    %s\n", p.paint(dim, "its last words:"))
		}
		for _, line := range e.Stderr {
			p.printf("    %s %s\n", p.paint(dim, "|"), cut(clean(strings.ReplaceAll(line, "\t", "    ")), max(20, p.columns()-6)))
		}
	}
}

// endOf describes how an epoch ended.
func endOf(e bezoar.Evidence) string {
	switch {
	case e.Detail != "":
		return e.Detail
	case e.Signal != "":
		return "signal: " + e.Signal
	case e.ExitCode >= 0:
		return fmt.Sprintf("%s, exit code %d", e.Class, e.ExitCode)
	}
	return e.Class.String()
}

// circumstances describes what else was in flight, and how the blame was shared.
func circumstances(e bezoar.Evidence) string {
	if e.IsStrike() {
		return fmt.Sprintf("No worker died. %d in flight.", e.InFlight)
	}
	if e.Lane {
		return fmt.Sprintf("It ran alone in the lane; share of the blame %.2f.", e.Share)
	}
	text := fmt.Sprintf("Share of the blame %.2f, with %d in flight.", e.Share, e.InFlight)
	if len(e.Others) == 0 {
		return text
	}
	parts := make([]string, len(e.Others))
	for i, o := range e.Others {
		parts[i] = fmt.Sprintf("%s… %.2f", o.Fingerprint.Short(), o.Share)
	}
	return text + " The largest other shares: " + strings.Join(parts, ", ") + "."
}

func reportPrints(p *printer, work, variant, shape bezoar.Fingerprint) {
	if !work.IsZero() || !shape.IsZero() {
		p.printf("\n")
	}
	if !work.IsZero() {
		p.printf("%s %s\n", p.paint(dim, "fingerprint"), work)
	}
	if !variant.IsZero() {
		p.printf("%s %s\n", p.paint(dim, "variant    "), variant)
	}
	if !shape.IsZero() {
		p.printf("%s %s\n", p.paint(dim, "shape      "), shape)
	}
}

func paragraph(p *printer, indent, text string) {
	for _, line := range wrap(text, p.columns()-len(indent)) {
		p.printf("%s%s\n", indent, line)
	}
}

func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func times(n int64) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

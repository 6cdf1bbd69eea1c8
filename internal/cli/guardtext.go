package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
)

func writeGuarded(p *printer, name string, v *guard.Verdict) {
	p.printf("%s  %s  %s\n", p.paint(outcomeStyle(v.Verdict), string(v.Verdict)), p.paint(bold, clean(name)), p.paint(dim, guardedNote(v)))
	for _, f := range v.Findings {
		where := clean(f.Path)
		if f.Line > 0 {
			where = fmt.Sprintf("%d:%d %s", f.Line, f.Column, where)
		}
		p.printf("  %s  %s %s, limit %s  %s\n", p.paint(actionStyle(f.Action), string(f.Action)), p.paint(bold, f.Predictor), f.Value, f.Limit, p.paint(dim, "at "+cut(where, 100)))
		for _, text := range []string{f.Detail, f.Fix} {
			if text == "" {
				continue
			}
			for _, line := range wrap(clean(text), p.columns()-4) {
				p.printf("    %s\n", line)
			}
		}
	}
	if v.More > 0 {
		p.printf("  … and %d more\n", v.More)
	}
	for _, c := range v.Caps {
		p.printf("  capped %s\n", clean(c))
	}
}

// guardedNote returns the note after the name: cost and, for expressions, class.
func guardedNote(v *guard.Verdict) string {
	parts := []string{fmt.Sprintf("cost %s", guard.Number(v.Cost))}
	if v.Regex != "" {
		parts = append(parts, "expression "+v.Regex)
	}
	if v.Class != "" {
		parts = append(parts, "class "+clean(v.Class))
	}
	if v.HintsAge > 0 {
		parts = append(parts, "hints "+v.HintsAge.Round(time.Second).String()+" old")
	}
	return strings.Join(parts, ", ")
}

func outcomeStyle(o guard.Outcome) string {
	switch o {
	case guard.Accepted:
		return green
	case guard.Capped, guard.Reported:
		return yellow
	case guard.Rejected:
	}
	return red
}

func actionStyle(a guard.Action) string {
	if a == guard.Reject {
		return red
	}
	return yellow
}

package flowdraw

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/flow"
)

// SVG draws a flow. The result is well-formed for any names, and loads no other resources.
func SVG(d flow.Definition, look Look) ([]byte, error) {
	l, err := Place(d)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" font-family="ui-monospace, monospace" font-size="12">`+"\n", l.W, l.H, l.W, l.H)
	fmt.Fprintf(&b, "<title>%s</title>\n", escaped("Flow "+d.Name))
	b.WriteString(`<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#667"/></marker></defs>` + "\n")
	for _, line := range l.Lines {
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="#667" marker-end="url(#end)"/>`+"\n", path(line.Points))
	}
	for i, box := range l.Boxes {
		drawBox(&b, &d.Tasks[i], box, look.state(box.Task))
	}
	b.WriteString("</svg>\n")
	return []byte(b.String()), nil
}

// path is a line through points that leaves and reaches each horizontally.
func path(points []Point) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M%.1f %.1f", points[0].X, points[0].Y)
	for i, p := range points[1:] {
		from := points[i]
		half := (p.X - from.X) / 2
		fmt.Fprintf(&b, "C%.1f %.1f %.1f %.1f %.1f %.1f", from.X+half, from.Y, p.X-half, p.Y, p.X, p.Y)
	}
	return b.String()
}

// paint is the colour of a state.
type paint struct{ fill, stroke, dash string }

func paintOf(state string) paint {
	switch state {
	case "SUCCESS":
		return paint{"#e3f4e8", "#1d7a3a", ""}
	case "RUNNING":
		return paint{"#e2eefb", "#1a5fb4", ""}
	case "RETRYING", "SENSING", "INTERRUPTED":
		return paint{"#fff6dc", "#8a6100", "5 3"}
	case "DEAD_LETTER", "FAILED":
		return paint{"#fde4e1", "#b3261e", ""}
	case "HELD", "UPSTREAM_FAILED":
		return paint{"#fbeee9", "#b3261e", "5 3"}
	case "SKIPPED", "CANCELLED":
		return paint{"#eeeef2", "#667", "2 3"}
	}
	return paint{"#fff", "#667", ""}
}

// drawBox draws a task: its shape shows its kind; its colour, dashes and text show its state.
func drawBox(b *strings.Builder, t *flow.Task, box Box, state string) {
	p := paintOf(state)
	radius := 4.0
	if t.SideEffect {
		radius = box.H / 2
	}
	style := fmt.Sprintf(`fill="%s" stroke="%s" stroke-width="1.5"`, p.fill, p.stroke)
	if p.dash != "" {
		style += fmt.Sprintf(` stroke-dasharray="%s"`, p.dash)
	}
	fmt.Fprintf(b, "<g><title>%s</title>", escaped(strings.Join([]string{t.Name, state, kind(t)}, " ")))
	if t.Each != nil { // a second box behind it
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.1f" %s/>`, box.X+4, box.Y-4, box.W, box.H, radius, style)
	}
	if t.Sensor != nil {
		fmt.Fprintf(b, `<path d="M%.1f %.1fh%.1fl10 %.1fl-10 %.1fh-%.1fl-10 -%.1fz" %s/>`,
			box.X+10, box.Y, box.W-20, box.H/2, box.H/2, box.W-20, box.H/2, style)
	} else {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.1f" %s/>`, box.X, box.Y, box.W, box.H, radius, style)
	}
	middle, y := box.X+box.W/2, box.Y+box.H/2+4
	if state != "" {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle" font-size="10" fill="%s">%s</text>`, middle, y+9, p.stroke, escaped(state))
		y -= 7
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text></g>`+"\n", middle, y, escaped(t.Name))
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder returns no error
	return b.String()
}

package cli

import (
	"strings"
	"unicode/utf8"
)

// table is aligned rows under a heading. A heading that begins with > aligns its column to the right. The last column is
// cut to the terminal's width.
type table struct {
	head []string
	rows [][]cell
}

type cell struct{ text, style string }

func plain(s string) cell { return cell{text: clean(s)} }

func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

func (t *table) write(p *printer, indent string) {
	widths := make([]int, len(t.head))
	for i, h := range t.head {
		widths[i] = utf8.RuneCountInString(strings.TrimPrefix(h, ">"))
	}
	for _, row := range t.rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	if p.width != nil {
		before := utf8.RuneCountInString(indent)
		for _, w := range widths[:len(widths)-1] {
			before += w + 2
		}
		widths[len(widths)-1] = min(widths[len(widths)-1], max(8, p.width()-before))
	}
	head := make([]cell, len(t.head))
	for i, h := range t.head {
		head[i] = cell{strings.TrimPrefix(h, ">"), bold}
	}
	t.line(p, indent, widths, head)
	for _, row := range t.rows {
		t.line(p, indent, widths, row)
	}
}

func (t *table) line(p *printer, indent string, widths []int, row []cell) {
	var b strings.Builder
	b.WriteString(indent)
	for i, c := range row {
		text := cut(c.text, widths[i])
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
		right := strings.HasPrefix(t.head[i], ">")
		if right {
			b.WriteString(pad)
		}
		b.WriteString(p.paint(c.style, text))
		if i < len(row)-1 {
			if !right {
				b.WriteString(pad)
			}
			b.WriteString("  ")
		}
	}
	p.printf("%s\n", strings.TrimRight(b.String(), " "))
}

package cmdline

import (
	"fmt"
	"go/doc/comment"
	"slices"
	"strings"
)

// HelpFor returns the help of a command, in lines of at most width bytes.
func (p *Parser) HelpFor(c *Command, width int) string {
	h := &helpText{width: width}
	h.print("", "Usage: "+c.usage())
	h.paragraphs(c.Help)
	h.paragraphs(c.Detail)
	if len(c.Arguments) > 0 {
		h.print("", "", "Arguments:")
		var rows []row
		for _, a := range c.Arguments {
			rows = append(rows, row{a.Summary(), a.Help})
		}
		h.table(rows)
	}
	h.print("", "", "Flags:")
	h.table(flagRows(c))
	if c.Parent == nil {
		for _, g := range p.options.Groups {
			h.commands(c, g.Title, func(child *Command) bool { return child.group == g.Key })
		}
		h.print("", "", fmt.Sprintf(`Run "%s <command> --help" for more information on a command.`, c.Name))
	} else {
		h.commands(c, "Commands:", func(*Command) bool { return true })
	}
	return h.String()
}

type helpText struct {
	strings.Builder

	width int
}

func (h *helpText) print(indent string, lines ...string) {
	for _, line := range lines {
		h.WriteString(strings.TrimRight(indent+line, " ") + "\n")
	}
}

// paragraphs writes an empty line and the text, if there is any.
func (h *helpText) paragraphs(text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	h.print("", "")
	h.print("", strings.Split(strings.TrimSpace(wrapped(text, "    ", h.width)), "\n")...)
}

// wrapped breaks text into lines. Indented lines stay as they are, after code.
func wrapped(text, code string, width int) string {
	p := comment.Printer{TextCodePrefix: code, TextWidth: width}
	return string(p.Text(new(comment.Parser).Parse(text)))
}

// row is a line of a table: what is described, and the description.
type row struct{ left, right string }

// table writes rows with two columns.
func (h *helpText) table(rows []row) {
	const indent = "  "
	width, limit, left := h.width-len(indent), 0, 0
	limit = max(30, 375*width/1000)
	for _, r := range rows {
		if n := len(r.left); n < limit {
			left = max(left, n)
		}
	}
	for _, r := range rows {
		lines := strings.Split(strings.TrimRight(wrapped(r.right, indent, width-left-4), "\n"), "\n")
		line := fmt.Sprintf("%-*s", left, r.left)
		if len(r.left) < limit {
			line += "    " + lines[0]
			lines = lines[1:]
		}
		h.print(indent, line)
		h.print(indent+strings.Repeat(" ", left+4), lines...)
	}
}

// flagRows returns the flags of a command and of those above it, with an empty row between them.
func flagRows(c *Command) (rows []row) {
	letters := slices.ContainsFunc(c.AllFlags(), func(f *Value) bool { return f.Short != 0 })
	var above func(c *Command)
	above = func(c *Command) {
		if c.Parent != nil {
			above(c.Parent)
		}
		if len(rows) > 0 && len(c.Flags) > 0 {
			rows = append(rows, row{})
		}
		for _, f := range c.Flags {
			rows = append(rows, row{f.described(letters), f.Help})
		}
	}
	above(c)
	return rows
}

// described returns a flag as help shows it. letters says that some flags have one.
func (v *Value) described(letters bool) string {
	text := v.Summary()
	if v.negatable {
		text = "--[no-]" + v.Name
	}
	switch {
	case v.Short != 0:
		return "-" + string(v.Short) + ", " + text
	case letters:
		return "    " + text
	}
	return text
}

// commands lists the commands below c that belong together.
func (h *helpText) commands(c *Command, title string, belongs func(*Command) bool) {
	var rows []row
	for _, child := range c.Children {
		if !child.Hidden && belongs(child) {
			rows = append(rows, row{child.Path(), child.Help})
		}
	}
	if len(rows) > 0 {
		h.print("", "", title)
		h.table(rows)
	}
}

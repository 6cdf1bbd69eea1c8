package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/cli/cmdline"
)

// manCmd writes the manual for packages, from the same grammar as --help.
type manCmd struct {
	Dir string `arg:"" help:"The folder for the pages: bezoar.1, and bezoar-COMMAND.1 for each command."`
}

func (c *manCmd) Run(s *session) error {
	pages := manual(s.root, readVersion())
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the manual: %w", err)
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(text), 0o644); err != nil { //nolint:gosec // everybody may read it
			return fmt.Errorf("write a page of the manual: %w", err)
		}
	}
	s.say("%s in %s", count(int64(len(pages)), "page", "pages"), clean(c.Dir))
	return nil
}

// manual returns all pages by file name. The output depends only on the program.
func manual(root *cmdline.Command, v buildVersion) map[string]string {
	day, _, _ := strings.Cut(v.Date, "T")
	head := func(name string) *roff {
		r := &roff{}
		r.request("TH", strings.ToUpper(name), "1", day, "bezoar "+v.Version, "Bezoar")
		return r
	}
	pages := map[string]string{}
	top := head("bezoar")
	top.section("NAME")
	top.text("bezoar - " + strings.TrimSuffix(root.Help, "."))
	top.section("SYNOPSIS")
	top.text("bezoar COMMAND [ARGUMENTS] [FLAGS]")
	top.section("COMMANDS")
	var also []string
	for _, n := range shownBelow(root) {
		name := "bezoar-" + n.Name
		also = append(also, name)
		top.item(name+"(1)", n.Help)
		page := head(name)
		page.section("NAME")
		page.text(name + " - " + strings.TrimSuffix(n.Help, "."))
		page.section("SYNOPSIS")
		commands := n.Leaves(false)
		if len(n.Children) == 0 {
			commands = []*cmdline.Command{n}
		}
		for _, leaf := range commands {
			page.text(leaf.FullPath() + synopsis(leaf))
			page.request("br")
		}
		page.command(n)
		page.section("SEE ALSO")
		page.text("bezoar(1) has the flags of all commands, exit codes and the environment.")
		pages[name+".1"] = page.String()
	}
	top.section("OPTIONS")
	top.flags(root.Flags)
	top.section("EXIT STATUS")
	top.text(strings.TrimPrefix(exitHelp, "Exit codes: "))
	top.section("ENVIRONMENT")
	top.item(adminVar, "Address of the running Bezoar's admin API, for commands that ask it.")
	top.item(tokenVar, "The admin token, for these commands, and for run and serve.")
	top.item("NO_COLOR", "If it is set, no colours are written.")
	top.section("FILES")
	top.item("bezoar.yaml", "The settings of serve, in the folder where it is started. bezoar config schema prints its JSON Schema.")
	top.section("SEE ALSO")
	top.text(strings.Join(also, "(1), ") + "(1)")
	pages["bezoar.1"] = top.String()
	return pages
}

func shownBelow(n *cmdline.Command) (out []*cmdline.Command) {
	for _, child := range n.Children {
		if !child.Hidden {
			out = append(out, child)
		}
	}
	return out
}

// synopsis returns what follows a command's name.
func synopsis(n *cmdline.Command) string {
	var text strings.Builder
	for _, p := range n.Arguments {
		text.WriteString(" " + p.Summary())
	}
	return text.String() + " [FLAGS]"
}

// roff writes a page in the language of man(7).
type roff struct{ strings.Builder }

// request writes a request with its arguments.
func (r *roff) request(name string, args ...string) {
	r.WriteString("." + name)
	for _, a := range args {
		r.WriteString(` "` + strings.ReplaceAll(escaped(a), `"`, `\(dq`) + `"`)
	}
	r.WriteString("\n")
}

func (r *roff) section(title string) { r.request("SH", title) }

// text writes paragraphs.
func (r *roff) text(text string) {
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			r.request("PP")
		}
		line := escaped(strings.Join(strings.Fields(paragraph), " "))
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") { // else it is a request
			line = `\&` + line
		}
		r.WriteString(line + "\n")
	}
}

func (r *roff) item(term, text string) {
	r.request("TP")
	r.request("B", term)
	r.text(text)
}

// command writes the arguments of a command, and its verbs.
func (r *roff) command(n *cmdline.Command) {
	r.section("DESCRIPTION")
	r.text(strings.TrimSpace(n.Help + "\n\n" + n.Detail))
	r.takes(n)
	if verbs := shownBelow(n); len(verbs) > 0 {
		r.section("COMMANDS")
		for _, verb := range verbs {
			r.request("SS", verb.FullPath()+synopsis(verb))
			r.text(strings.TrimSpace(verb.Help + "\n\n" + verb.Detail))
			r.takes(verb)
		}
	}
}

// takes writes arguments and flags.
func (r *roff) takes(n *cmdline.Command) {
	for _, p := range n.Arguments {
		r.item(p.Summary(), p.Help)
	}
	r.flags(n.Flags)
}

func (r *roff) flags(flags []*cmdline.Value) {
	for _, f := range flags {
		term := "--" + f.Name
		if f.Short != 0 {
			term = "-" + string(f.Short) + ", " + term
		}
		if !f.IsBool() {
			term += "=" + f.Placeholder()
		}
		r.item(term, f.Help)
	}
}

// escaped escapes text so that roff prints it unchanged.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range text {
		switch {
		case c == '\\':
			b.WriteString(`\e`)
		case c == '-':
			b.WriteString(`\-`)
		case c > '~': // independent of the reader's locale
			fmt.Fprintf(&b, `\[u%04X]`, c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/live"
)

type configStatus struct {
	remote
	Check bool `help:"Exit with code 8 when a node does not run what it should, or its file or store has a fault."`
}

func (c *configStatus) Run(s *session, api *adminapi.Client) error {
	st, err := api.Settings(s)
	err = s.show(st, err, func() { writeSettings(s.out, s.now(), st) })
	if err != nil || !c.Check {
		return err
	}
	return settled(st)
}

// settled returns nil if every node runs the version that it should.
func settled(st live.Status) error {
	faults := []struct{ what, fault string }{{"", st.Error}, {"the file: ", st.File.Error}, {"the store: ", st.Store.Error}}
	for _, f := range st.File.Files {
		faults = append(faults, struct{ what, fault string }{"a file of the settings: ", f.Error})
	}
	for _, is := range faults {
		if is.fault != "" {
			return exitf(exitUnhealthy, "node %s: %s%s", clean(st.Node), is.what, cleanLines(is.fault))
		}
	}
	for _, n := range st.Nodes {
		if n.Error != "" || n.Running != n.Wanted {
			return exitf(exitUnhealthy, "node %s runs version %d instead of %d: %s", clean(n.Name), n.Running, n.Wanted, cleanLines(n.Error))
		}
	}
	return nil
}

// writeSettings prints what runs on the node that answers, and then on all nodes.
func writeSettings(p *printer, now time.Time, st live.Status) {
	line := func(name, style, text string) {
		for l := range strings.SplitSeq(text, "\n") { // faults of a text, one a line
			p.printf("%s  %s\n", p.paint(dim, fmt.Sprintf("%-9s", name)), p.paint(style, clean(l)))
			name = ""
		}
	}
	line("node", bold, st.Node)
	line("running", "", fmt.Sprintf("%s, since %s (%s)", versionText(st.Running), clock(now, st.Since), ago(now, st.Since)))
	if st.Wanted.Sum != st.Running.Sum {
		line("wanted", yellow, versionText(st.Wanted))
	}
	if st.Error != "" {
		line("error", red, st.Error)
		line("", "", fmt.Sprintf("since %s; %s runs instead", clock(now, st.ErrorAt), versionText(st.Running)))
	}
	text, style := fileText(st)
	line("file", style, text)
	if st.File.Error != "" {
		line("", "", fmt.Sprintf("since %s; the previous settings stay in force", clock(now, st.File.ErrorAt)))
	}
	for _, f := range st.File.Files {
		text, style := namedText(now, st, f)
		line("", style, text)
	}
	if e := st.Store.Error; e != "" {
		line("store", red, fmt.Sprintf("has not answered since %s: %s", clock(now, st.Store.Since), e))
	} else {
		line("store", "", "answers")
	}
	line("overrides", "", fmt.Sprintf("%d in force", len(st.Overrides)))
	for _, o := range st.Overrides[:min(len(st.Overrides), mostOverrides)] {
		line("", "", fmt.Sprintf("%s for %s until %s, %s", whatText(o), targetText(o), clock(now, o.Until), o.ID))
	}
	if more := len(st.Overrides) - mostOverrides; more > 0 {
		line("", "", fmt.Sprintf("and %d more: bezoar override ls", more))
	}
	if len(st.Nodes) == 0 {
		return
	}
	p.printf("\n")
	t := table{head: []string{"NODE", ">RUNS", ">WANTS", "SINCE", "SEEN", ">OVERRIDES", "ERROR"}}
	for _, n := range st.Nodes {
		wanted := number(n.Wanted)
		if n.Running != n.Wanted {
			wanted.style = yellow
		}
		t.add(plain(n.Name), number(n.Running), wanted, plain(ago(now, n.Since)), plain(ago(now, n.Seen)),
			number(int64(n.Overrides)), cell{clean(strings.ReplaceAll(n.Error, "\n", "; ")), red})
	}
	t.write(p, "")
}

func versionText(v live.Version) string {
	switch {
	case v.Sum == "":
		return "nothing yet"
	case v.Number == 0:
		return "the file's content, not stored yet"
	}
	text := fmt.Sprintf("version %d from %s by %s", v.Number, v.Source, v.By)
	if v.Note != "" && v.Source != live.FromFile {
		text += ": " + v.Note
	}
	return text
}

func fileText(st live.Status) (text, style string) {
	f := st.File
	if f.Path == "" {
		return "none", ""
	}
	switch {
	case f.Error != "":
		return f.Error, red
	case f.Runs:
		text = f.Path + " is what runs"
	case f.Version == st.Wanted.Number && st.Wanted.Sum != st.Running.Sum:
		text, style = f.Path+" is what should run", yellow
	case f.Version == st.Running.Number: // a file that it names has changed
		text, style = f.Path+" is what runs", ""
	case slices.ContainsFunc(f.Files, func(n live.NamedFile) bool { return n.Error != "" }):
		text, style = fmt.Sprintf("%s is version %d, and names a file that cannot be read", f.Path, f.Version), yellow
	default:
		text, style = fmt.Sprintf("%s is version %d; a newer version was applied", f.Path, f.Version), yellow
	}
	if !f.Notified {
		text += "; checked only every 10s"
	}
	return text, style
}

// mostOverrides bounds the overrides in the status.
const mostOverrides = 10

// namedText compares a file that the settings name with the running version.
func namedText(now time.Time, st live.Status, f live.NamedFile) (text, style string) {
	switch {
	case f.Error != "":
		return fmt.Sprintf("%s, since %s; its text in version %d stays in force", f.Error, clock(now, f.ErrorAt), st.Running.Number), yellow
	case f.Runs:
		return f.Path + " is what runs", ""
	case st.File.Error != "":
		return f.Path + " is not what runs", yellow
	}
	return fmt.Sprintf("%s differs from the limits in force since version %d (%s): edit it, or apply it with bezoar guard limits", f.Path, st.Running.Number, st.Running.Source), yellow
}

// cleanLines is clean for text with several lines.
func cleanLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = clean(lines[i])
	}
	return strings.Join(lines, "\n")
}

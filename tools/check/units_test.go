package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	iniBlock = regexp.MustCompile("(?ms)^```ini\n(.*?)^```$")
	unitName = regexp.MustCompile(`(?m)^# /etc/systemd/system/(\S+)$`)
	program  = regexp.MustCompile(`(?m)^(ExecStart=)\S+`)
)

// units are those of the package and of the guides, by name in folders of their own: a
// unit of a guide may have the name of the package's.
func units(t *testing.T) map[string]map[string]string {
	t.Helper()
	all := map[string]map[string]string{"the package": {"bezoar.service": string(file(t, "deploy/debian/bezoar.service"))}, "docs/deploy.md": {}}
	for _, m := range iniBlock.FindAllStringSubmatch(string(file(t, "docs/deploy.md")), -1) {
		name := unitName.FindStringSubmatch(m[1])
		if name == nil {
			t.Fatalf("docs/deploy.md has a unit without a name:\n%s", m[1])
		}
		all["docs/deploy.md"][name[1]] = m[1]
	}
	dropIn := iniBlock.FindStringSubmatch(string(file(t, "docs/install.md")))
	if len(all["docs/deploy.md"]) < 2 || dropIn == nil {
		t.Fatalf("docs/deploy.md has %d units, docs/install.md has a drop-in: %v", len(all["docs/deploy.md"]), dropIn != nil)
	}
	all["docs/install.md"] = map[string]string{"bezoar.service": all["the package"]["bezoar.service"], "bezoar.service.d/override.conf": dropIn[1]}
	return all
}

// systemd reads the units of the package and of the guides without a complaint, and
// complains about each that has an error.
func TestUnitsOfSystemd(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed: the units are not checked (apt-get install systemd)")
	}
	for from, set := range units(t) {
		for name, text := range set {
			if complaint := verify(t, set, "", ""); complaint != "" {
				t.Errorf("%s: %s", from, complaint)
				break
			}
			key, _, _ := strings.Cut(lastSetting(text), "=")
			if verify(t, set, name, strings.Replace(text, "\n"+key+"=", "\n"+key+"Maybe=", 1)) == "" {
				t.Errorf("%s: %s with %sMaybe is taken for valid", from, name, key)
			}
		}
	}
}

// lastSetting is the last line of a unit that is a setting and not of [Install].
func lastSetting(text string) (last string) {
	text, _, _ = strings.Cut(text, "[Install]")
	for line := range strings.Lines(text) {
		if strings.Contains(line, "=") && !strings.HasPrefix(line, "#") {
			last = line
		}
	}
	return last
}

// verify returns what systemd-analyze says of a set of units, one of which is changed.
// Programs that they start are not here, so another one stands for them.
func verify(t *testing.T, set map[string]string, changed, text string) string {
	t.Helper()
	dir := t.TempDir()
	args := []string{"verify", "--man=no", "--recursive-errors=no"}
	for name, unit := range set {
		if name == changed {
			unit = text
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(program.ReplaceAllString(unit, "${1}/bin/true")), 0o644); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, ".conf") {
			args = append(args, path)
		}
	}
	cmd := exec.CommandContext(t.Context(), "systemd-analyze", args...)
	cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":")
	out, err := cmd.CombinedOutput()
	var about []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "bezoar") { // systemd's own units may be incomplete here
			about = append(about, strings.TrimSpace(line))
		}
	}
	if err != nil && len(about) == 0 {
		t.Logf("systemd-analyze: %v\n%s", err, out)
	}
	return strings.Join(about, "\n")
}

package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

type versionCmd struct{}

// buildVersion is what version prints with --json.
type buildVersion struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Date     string `json:"date,omitempty"`     // when that was committed, RFC 3339
	Modified bool   `json:"modified,omitempty"` // built from a changed work tree
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func (versionCmd) Run(s *session) error {
	v := readVersion()
	return s.show(v, nil, func() { s.out.printf("%s\n", v.line()) })
}

// line formats the version for people.
func (v buildVersion) line() string {
	line := "bezoar " + v.Version
	if v.Revision != "" {
		line += " (" + v.Revision[:min(12, len(v.Revision))]
		if day, _, ok := strings.Cut(v.Date, "T"); ok {
			line += ", " + day
		}
		line += ")"
	}
	return fmt.Sprintf("%s %s %s/%s", line, v.Go, v.OS, v.Arch)
}

// readVersion reads from the binary how it was built.
func readVersion() buildVersion {
	v := buildVersion{Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if m := info.Main.Version; m != "" && m != "(devel)" {
		v.Version = strings.TrimPrefix(m, "v")
	}
	for _, set := range info.Settings {
		switch set.Key {
		case "vcs.revision":
			v.Revision = set.Value
		case "vcs.time":
			v.Date = set.Value
		case "vcs.modified":
			v.Modified = set.Value == fmt.Sprint(true)
		}
	}
	return v
}

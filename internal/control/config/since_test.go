package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/test/golden"
)

// A key that is new after a release says in which version it came:
//
//	Pace string `yaml:"pace" since:"0.2.0"`
//
// A key without the tag has been there since the first version. The tag counts for
// everything below the key, too. The keys of each release are listed in
// testdata/keys; the test with -update writes the list of the newest one, in the
// commit that gives CHANGELOG.md its heading. A listed key keeps its version.

const firstVersion = "0.1.0"

// sinceOf is the version of a field below a key of version above.
func sinceOf(f reflect.StructField, above string) string {
	if own := f.Tag.Get("since"); own != "" && versionNumber(own) > versionNumber(above) {
		return own
	}
	return above
}

var versionForm = regexp.MustCompile(`^\d{1,3}\.\d{1,3}\.\d{1,3}$`)

// versionNumber orders versions; it is 0 for what is none.
func versionNumber(version string) (n int) {
	if !versionForm.MatchString(version) {
		return 0
	}
	var major, minor, patch int
	_, _ = fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch) // the form is that of three numbers
	return major*1_000_000 + minor*1_000 + patch
}

// release is a version and the keys that it has.
type release struct {
	version string
	keys    []string
}

// wrongSince says which keys claim a version other than the one that they came in.
// Releases are in order.
func wrongSince(since map[string]string, releases []release) (faults []string) {
	newest := ""
	if len(releases) > 0 {
		newest = releases[len(releases)-1].version
	}
	for _, key := range slices.Sorted(maps.Keys(since)) {
		came := ""
		for _, r := range releases {
			if slices.Contains(r.keys, key) {
				came = r.version
				break
			}
		}
		switch says := since[key]; {
		case versionNumber(says) == 0:
			faults = append(faults, fmt.Sprintf("%s: %q is no version", key, says))
		case came != "" && says != came:
			faults = append(faults, fmt.Sprintf("%s says %s, and came in %s", key, says, came))
		case came == "" && newest != "" && versionNumber(says) <= versionNumber(newest):
			faults = append(faults, fmt.Sprintf("%s is new after %s: give its field a tag such as since:%q", key, newest, "the next version"))
		case came == "" && newest == "" && says != firstVersion:
			faults = append(faults, fmt.Sprintf("%s says %s, and the first version is %s", key, says, firstVersion))
		}
	}
	return faults
}

var heading = regexp.MustCompile(`(?m)^## \[?v?(\d+\.\d+\.\d+)\b`)

// released are the versions of the changelog, the oldest first.
func released(changelog string) (versions []string) {
	for _, m := range heading.FindAllStringSubmatch(changelog, -1) {
		versions = append(versions, m[1])
	}
	slices.SortFunc(versions, func(a, b string) int { return versionNumber(a) - versionNumber(b) })
	return versions
}

func TestKeysSayTheVersionThatTheyCameIn(t *testing.T) {
	since := map[string]string{}
	for _, s := range allSettings(t) {
		since[s.path] = s.since
	}
	versions := released(string(read(t, filepath.Join("..", "..", "..", "CHANGELOG.md"))))
	var releases []release
	for i, v := range versions {
		list := filepath.Join("testdata", "keys", v+".txt")
		if golden.Updating() && i == len(versions)-1 {
			golden.File(t, list, []byte(strings.Join(slices.Sorted(maps.Keys(since)), "\n")+"\n"))
		}
		releases = append(releases, release{v, strings.Fields(string(read(t, list)))})
	}
	for _, fault := range wrongSince(since, releases) {
		t.Error(fault)
	}
}

func TestANewKeyHasToSayItsVersion(t *testing.T) {
	releases := []release{{"0.1.0", []string{"a"}}, {"0.10.0", []string{"a", "b"}}}
	for _, c := range []struct {
		key, since string
		releases   []release
		fault      bool
	}{
		{"a", "0.1.0", nil, false},
		{"a", "0.2.0", nil, true},
		{"a", "soon", nil, true},
		{"a", "0.1.0", releases, false},
		{"b", "0.10.0", releases, false},
		{"b", "0.1.0", releases, true},
		{"c", "0.1.0", releases, true},
		{"c", "0.9.0", releases, true},
		{"c", "0.10.0", releases, true},
		{"c", "0.11.0", releases, false},
	} {
		if got := wrongSince(map[string]string{c.key: c.since}, c.releases); (len(got) > 0) != c.fault {
			t.Errorf("%s since %s after %d releases: %q", c.key, c.since, len(c.releases), got)
		}
	}
	got := released("# Changelog\n\n## Unreleased\n\n## 0.10.0 - 2028-01-01\n\n## 0.2.0\n\n## [0.1.0] - 2027-01-01\n")
	if want := []string{"0.1.0", "0.2.0", "0.10.0"}; !slices.Equal(got, want) {
		t.Errorf("released %q, want %q", got, want)
	}
}

// The tag of a field counts for what is below it, unless that came later.
func TestTheVersionOfAPartCountsForItsKeys(t *testing.T) {
	type inner struct {
		Old int `yaml:"old"`
		New int `yaml:"new" since:"0.3.0"`
	}
	type outer struct {
		One  inner            `yaml:"one"`
		Many map[string]inner `yaml:"many" since:"0.2.0"`
	}
	w := walker{}
	w.structure(reflect.ValueOf(&outer{}).Elem(), "", firstVersion)
	got := map[string]string{}
	for _, s := range w.all {
		got[s.path] = s.since
	}
	want := map[string]string{
		"one": "0.1.0", "one.old": "0.1.0", "one.new": "0.3.0",
		"many.NAME": "0.2.0", "many.NAME.old": "0.2.0", "many.NAME.new": "0.3.0",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

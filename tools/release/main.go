// Command release packs built binaries into the other files of a release: Debian
// packages, an image, a bill of materials with licences, and their sums. It is
// what scripts/release runs last. The same input gives the same bytes: every time
// is SOURCE_DATE_EPOCH, every owner is fixed, and names are sorted.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxBinary is the most that a binary may take, so that growth is noticed.
// docs/decisions.md says what takes the room.
const maxBinary = 45_000_000

// release is what all files are made from.
type release struct {
	source   string            // the commit's files
	out      string            // where files go
	version  string            // without the v
	time     time.Time         // the commit's
	binaries map[string]string // path by platform, such as linux_amd64
	modules  []module          // what the binaries are linked from
}

func main() {
	source := flag.String("source", ".", "folder with the commit's files")
	binaries := flag.String("binaries", "", "folder with bezoar_GOOS_GOARCH, built")
	out := flag.String("out", "", "folder for the files of the release")
	flag.Parse()
	if err := run(*source, *binaries, *out); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(source, binaries, out string) error {
	r, err := load(source, binaries, out)
	if err != nil {
		return err
	}
	for _, make := range []func(*release) error{
		(*release).writeBinaries, (*release).writeLicences, (*release).writeMaterials, (*release).writeDebian,
		(*release).writeImage, (*release).writeSums,
	} {
		if err := make(r); err != nil {
			return err
		}
	}
	return nil
}

// load reads how the binaries were built.
func load(source, binaries, out string) (*release, error) {
	epoch, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	r := &release{source: source, out: out, time: time.Unix(epoch, 0).UTC(), binaries: map[string]string{}}
	paths, err := filepath.Glob(filepath.Join(binaries, "bezoar_*_*"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no binaries in %q: %w", binaries, errors.Join(err, os.ErrNotExist))
	}
	for _, path := range paths {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read how a binary was built: %w", err)
		}
		version := strings.TrimPrefix(info.Main.Version, "v")
		if strings.Contains(version, "+dirty") || version == "(devel)" || version == "" {
			return nil, fmt.Errorf("%s is not built from a commit: its version is %q", path, version)
		}
		r.version = version
		r.binaries[strings.TrimPrefix(filepath.Base(path), "bezoar_")] = path
		r.add(info.Deps)
	}
	return r, r.findLicences()
}

// architectures are those that there is a Linux binary for, in order.
func (r *release) architectures() (out []string) {
	for platform := range r.binaries {
		if arch, linux := strings.CutPrefix(platform, "linux_"); linux {
			out = append(out, arch)
		}
	}
	slices.Sort(out)
	return out
}

func (r *release) writeBinaries() error {
	for platform, path := range r.binaries {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if len(data) > maxBinary {
			return fmt.Errorf("%s takes %d bytes, want %d at most", path, len(data), maxBinary)
		}
		if err := r.write("bezoar_"+platform, data, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// write makes a file of the release and says so.
func (r *release) write(name string, data []byte, mode os.FileMode) error {
	path := filepath.Join(r.out, name)
	if err := os.WriteFile(path, data, mode); err != nil {
		return err
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask is
		return err
	}
	fmt.Printf("%-24s %5.1f MB\n", name, float64(len(data))/1e6)
	return nil
}

// writeSums writes what sha256sum -c checks.
func (r *release) writeSums() error {
	entries, err := os.ReadDir(r.out) // sorted
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, e := range entries {
		if e.Name() == "SHA256SUMS" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return r.write("SHA256SUMS", []byte(sums.String()), 0o644)
}

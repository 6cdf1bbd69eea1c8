package main

import (
	"bytes"
	"compress/gzip"
	"crypto/md5" // the format's checksum; SHA256SUMS has those that protect
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// writeDebian makes a package for each Linux.
func (r *release) writeDebian() error {
	for _, arch := range r.architectures() {
		if err := r.writePackage(arch); err != nil {
			return fmt.Errorf("Debian package for %s: %w", arch, err)
		}
	}
	return nil
}

// debianVersion orders as Debian does: 1.0.0~rc.1 is before 1.0.0.
func debianVersion(version string) string {
	return strings.ReplaceAll(version, "-", "~")
}

func (r *release) writePackage(arch string) error {
	files, err := r.installed(arch)
	if err != nil {
		return err
	}
	data, err := archive("./", files, r.time)
	if err != nil {
		return err
	}
	var size int
	var sums strings.Builder
	for _, f := range files {
		size += len(f.data)
		if !strings.HasPrefix(f.name, "etc/") {
			fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.data), f.name)
		}
	}
	about := []file{
		{name: "control", mode: 0o644, data: fmt.Appendf(nil, control, debianVersion(r.version), arch, (size+1023)/1024)},
		{name: "conffiles", mode: 0o644, data: []byte("/etc/bezoar/bezoar.yaml\n")},
		{name: "md5sums", mode: 0o644, data: []byte(sums.String())},
	}
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		text, err := os.ReadFile(filepath.Join(r.source, "deploy/debian", script))
		if err != nil {
			return err
		}
		about = append(about, file{name: script, mode: 0o755, data: text})
	}
	controls, err := archive("./", about, r.time)
	if err != nil {
		return err
	}
	return r.write("bezoar_"+arch+".deb", ar(r.time, []file{
		{name: "debian-binary", data: []byte("2.0\n")},
		{name: "control.tar.gz", data: compress(controls)},
		{name: "data.tar.gz", data: compress(data)},
	}), 0o644)
}

const control = `Package: bezoar
Version: %s
Architecture: %s
Maintainer: The Bezoar authors <bezoar-dev@users.noreply.github.com>
Installed-Size: %d
Depends: passwd
Section: net
Priority: optional
Homepage: https://github.com/bezoar-dev/bezoar
Description: gateway and queue that blames failing work, not workers
 Bezoar stands in front of servers and job workers. It finds out which request
 or message makes them crash, runs suspects alone, and sets the guilty one aside
 with the evidence, so that everything else is served.
`

// installed are the files of a package.
func (r *release) installed(arch string) ([]file, error) {
	licences, err := r.licences()
	if err != nil {
		return nil, err
	}
	files := []file{{name: "usr/share/doc/bezoar/copyright", mode: 0o644, data: licences}}
	for _, f := range []struct {
		name, from string
		mode       int64
	}{
		{"etc/bezoar/bezoar.yaml", filepath.Join(r.source, "deploy/debian/bezoar.yaml"), 0o644},
		{"usr/bin/bezoar", r.binaries["linux_"+arch], 0o755},
		{"usr/lib/systemd/system/bezoar.service", filepath.Join(r.source, "deploy/debian/bezoar.service"), 0o644},
	} {
		data, err := os.ReadFile(f.from)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: f.name, mode: f.mode, data: data})
	}
	pages, err := r.manual()
	if err != nil {
		return nil, err
	}
	completions, err := r.completions()
	return append(append(files, pages...), completions...), err
}

// runs returns the program for this machine, which writes files for all platforms.
func (r *release) runs() (string, error) {
	program, ok := r.binaries[runtime.GOOS+"_"+runtime.GOARCH]
	if !ok {
		return "", fmt.Errorf("there is no binary for this machine, %s/%s, to write it", runtime.GOOS, runtime.GOARCH)
	}
	return filepath.Abs(program)
}

// completions has the program that runs here write its completions, where shells look
// for them.
func (r *release) completions() (files []file, err error) {
	program, err := r.runs()
	if err != nil {
		return nil, fmt.Errorf("completions: %w", err)
	}
	for _, c := range []struct{ shell, name string }{
		{"bash", "usr/share/bash-completion/completions/bezoar"},
		{"fish", "usr/share/fish/vendor_completions.d/bezoar.fish"},
	} {
		script, err := exec.Command(program, "completion", c.shell).Output()
		if err != nil {
			return nil, fmt.Errorf("completion for %s: %w", c.shell, err)
		}
		files = append(files, file{name: c.name, mode: 0o644, data: script})
	}
	return files, nil
}

// manual has the program that runs here write its manual, which is the same for all
// platforms.
func (r *release) manual() (pages []file, err error) {
	program, err := r.runs()
	if err != nil {
		return nil, fmt.Errorf("the manual: %w", err)
	}
	dir, err := os.MkdirTemp("", "bezoar-man-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if out, err := exec.Command(program, "man", dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the manual: %w: %s", err, out)
	}
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		pages = append(pages, file{name: "usr/share/man/man1/" + e.Name() + ".gz", mode: 0o644, data: compress(text)})
	}
	return pages, nil
}

// ar packs files as a Debian package is packed.
func ar(at time.Time, files []file) []byte {
	var out bytes.Buffer
	out.WriteString("!<arch>\n")
	for _, f := range files {
		fmt.Fprintf(&out, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", f.name, at.Unix(), 0, 0, "100644", len(f.data))
		out.Write(f.data)
		if len(f.data)%2 == 1 {
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}

// compress needs no error: it writes to memory.
func compress(data []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	_, _ = w.Write(data)
	_ = w.Close()
	return out.Bytes()
}

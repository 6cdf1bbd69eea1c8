package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// file is an entry of an archive: a regular file, or a folder if its name ends in
// a slash.
type file struct {
	name  string
	data  []byte
	mode  int64
	owner int // user and group; 0 is root
}

// archive packs files in the order of their names, with the folders above them
// that are not among them, all of one time. The same files give the same bytes.
func archive(prefix string, files []file, at time.Time) ([]byte, error) {
	files = slices.Clone(files)
	known := map[string]bool{}
	for _, f := range files {
		known[f.name] = true
	}
	for _, f := range slices.Clone(files) {
		for dir := path.Dir(strings.TrimSuffix(f.name, "/")); dir != "."; dir = path.Dir(dir) {
			if !known[dir+"/"] {
				known[dir+"/"] = true
				files = append(files, file{name: dir + "/", mode: 0o755})
			}
		}
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: prefix + f.name, Size: int64(len(f.data)), Mode: f.mode,
			Uid: f.owner, Gid: f.owner, ModTime: at, Format: tar.FormatUSTAR,
		}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.name, err)
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return out.Bytes(), nil
}

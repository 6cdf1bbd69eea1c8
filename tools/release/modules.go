package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// module is a dependency that is linked into a binary.
type module struct {
	path, version, sum string
	licences           []string // SPDX identifiers
	text               string   // its licence files, one after the other
}

// add takes dependencies of one more binary.
func (r *release) add(deps []*debug.Module) {
	for _, d := range deps {
		if d.Replace != nil {
			d = d.Replace
		}
		m := module{path: d.Path, version: d.Version, sum: d.Sum}
		at, found := slices.BinarySearchFunc(r.modules, m, func(a, b module) int { return strings.Compare(a.path, b.path) })
		if !found {
			r.modules = slices.Insert(r.modules, at, m)
		}
	}
}

// findLicences reads the licence files of each module in the module cache. A
// module without a licence that it knows is an error: somebody has to look.
func (r *release) findLicences() error {
	folders, err := r.folders()
	if err != nil {
		return err
	}
	var unknown []error
	for i := range r.modules {
		m := &r.modules[i]
		if m.licences, m.text, err = licencesIn(folders[m.path]); err != nil {
			unknown = append(unknown, fmt.Errorf("licence of %s: %w", m.path, err))
		}
	}
	return errors.Join(unknown...)
}

// folders asks Go where the modules are.
func (r *release) folders() (map[string]string, error) {
	list := exec.Command("go", "list", "-m", "-json")
	for _, m := range r.modules {
		list.Args = append(list.Args, m.path)
	}
	list.Dir, list.Stderr = r.source, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the modules: %w", err)
	}
	folders := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Dir string }
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return folders, nil
		} else if err != nil {
			return nil, fmt.Errorf("list the modules: %w", err)
		}
		folders[m.Path] = m.Dir
	}
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents|authors)([-.].*)?$`)

// licencesIn reads the licence files of a module's folder.
func licencesIn(folder string) (ids []string, text string, err error) {
	if folder == "" {
		return nil, "", errors.New("the module is not in the module cache")
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, "", err
	}
	var all strings.Builder
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, "", err
		}
		fmt.Fprintf(&all, "%s\n\n", bytes.TrimSpace(data))
		ids = append(ids, identify(string(data))...)
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) == 0 {
		return nil, "", fmt.Errorf("no file in %s is a licence that is known here", folder)
	}
	return ids, all.String(), nil
}

// phrases that only one licence has. Those of the GPL are not among them: a module
// with one needs a decision first.
var phrases = []struct{ id, phrase string }{
	{"Apache-2.0", "apache license version 2.0"},
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose"},
	{"ISC", "permission to use, copy, modify, and distribute this software for any purpose"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"Unlicense", "this is free and unencumbered software released into the public domain"},
}

var spaces = regexp.MustCompile(`[\s,*#/]+`)

// identify names the licences of a text by SPDX identifiers.
func identify(text string) (ids []string) {
	plain := func(s string) string { return strings.ToLower(spaces.ReplaceAllString(s, " ")) }
	text = plain(text)
	for _, p := range phrases {
		if strings.Contains(text, plain(p.phrase)) {
			ids = append(ids, p.id)
		}
	}
	if strings.Contains(text, "redistribution and use in source and binary forms") {
		if strings.Contains(text, "neither the name") || strings.Contains(text, "may not be used to endorse") ||
			strings.Contains(text, "used to endorse or promote") {
			return append(ids, "BSD-3-Clause")
		}
		return append(ids, "BSD-2-Clause")
	}
	return ids
}

// goLicence is the licence of the standard library and the runtime.
func goLicence() ([]byte, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("ask Go where it is: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "LICENSE"))
	if err != nil {
		return nil, fmt.Errorf("Go's own licence: %w", err)
	}
	return text, nil
}

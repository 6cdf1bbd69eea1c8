package main

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// files is the folder of a release that `make release-test` has made.
func files(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("BEZOAR_RELEASE")
	if folder == "" {
		t.Skip("BEZOAR_RELEASE names no folder of scripts/release; make release-test does")
	}
	return folder
}

// output runs a command that must succeed.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestLicencesAreIdentified(t *testing.T) {
	for want, text := range map[string]string{
		"Apache-2.0":   "Apache License\n   Version 2.0, January 2004",
		"MIT":          "Permission is hereby granted, free of charge, to any\nperson obtaining a copy of this software",
		"BSD-2-Clause": "Redistribution and use in source and\n// binary forms, with or without modification",
		"BSD-3-Clause": "Redistribution and use in source and binary forms … Neither the name of the author",
		"MPL-2.0":      "Mozilla Public License Version 2.0 … the GNU General Public License, Version 2.0",
		"":             "All rights reserved.",
	} {
		if got := strings.Join(identify(text), " "); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if _, _, err := licencesIn(t.TempDir()); err == nil {
		t.Error("a module without a licence passes")
	}
}

func TestArchivesOfTheSameFilesAreTheSame(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	some := []file{{name: "usr/bin/b", data: []byte("b"), mode: 0o755}, {name: "etc/a", data: []byte("a"), mode: 0o644}}
	one, err := archive("./", some, at)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(some)
	other, err := archive("./", some, at)
	if err != nil || !bytes.Equal(one, other) {
		t.Error("the order of the files shows", err)
	}
	later, err := archive("./", some, at.Add(time.Second))
	if err != nil || bytes.Equal(one, later) {
		t.Error("the time does not show", err)
	}
}

// Debian orders what Go calls a version in the same way.
func TestDebianVersionsAreInOrder(t *testing.T) {
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("dpkg is not installed")
	}
	versions := []string{"0.0.0-20261129231700-0f3eb51d1234", "0.0.0-20261130000000-000000000000", "0.1.0-rc.1", "0.1.0-rc.2", "0.1.0", "0.1.1-0.20261201000000-0f3eb51d1234", "0.1.1"}
	for i, v := range versions[1:] {
		output(t, "dpkg", "--compare-versions", debianVersion(versions[i]), "lt", debianVersion(v))
	}
}

func TestSumsAreThoseOfTheFiles(t *testing.T) {
	folder := files(t)
	cmd := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || strings.Count(string(out), ": OK") != len(entries)-1 {
		t.Errorf("SHA256SUMS does not name every file: %v\n%s", err, out)
	}
}

// The same commit gives the same bytes in another folder, from another clone.
func TestTheSameCommitGivesTheSameBytes(t *testing.T) {
	folder, again := files(t), os.Getenv("BEZOAR_RELEASE_AGAIN")
	if again == "" {
		t.Fatal("BEZOAR_RELEASE_AGAIN names no second folder")
	}
	sums, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	others, err := os.ReadFile(filepath.Join(again, "SHA256SUMS"))
	if err != nil || !bytes.Equal(sums, others) {
		t.Errorf("%v\n%s\n%s", err, sums, others)
	}
}

func TestBinariesAreStaticStrippedAndStamped(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(files(t), "bezoar_*_*"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no binaries", err)
	}
	for _, path := range paths {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		if settings["vcs.revision"] == "" || settings["vcs.time"] == "" || settings["vcs.modified"] != "false" || settings["-trimpath"] != "true" {
			t.Errorf("%s: built with %v", path, settings)
		}
		if !strings.Contains(path, "linux") {
			continue
		}
		exe, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if libraries, _ := exe.ImportedLibraries(); len(libraries) > 0 || exe.Section(".symtab") != nil || exe.Section(".interp") != nil {
			t.Errorf("%s is not static and stripped", path)
		}
		_ = exe.Close()
	}
}

// Every module in a binary is in the bill of materials, with its licence.
func TestMaterialsAreComplete(t *testing.T) {
	folder := files(t)
	text, err := os.Open(filepath.Join(folder, "bezoar.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(text, cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	licences := map[string]bool{}
	for _, c := range *bom.Components {
		licences[c.PackageURL] = c.Licenses != nil && len(*c.Licenses) > 0
	}
	info, err := buildinfo.ReadFile(filepath.Join(folder, "bezoar_linux_amd64"))
	if err != nil || len(info.Deps) == 0 {
		t.Fatal("no dependencies", err)
	}
	for _, d := range info.Deps {
		if !licences["pkg:golang/"+d.Path+"@"+d.Version] {
			t.Errorf("%s %s is not there with a licence", d.Path, d.Version)
		}
	}
}

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeMaterials writes the bill of materials: what all binaries together are
// linked from, with versions and licences, as CycloneDX.
func (r *release) writeMaterials() error {
	bom := cdx.NewBOM()
	self := component("github.com/bezoar-dev/bezoar", "v"+r.version, []string{"Apache-2.0"})
	self.Type = cdx.ComponentTypeApplication
	bom.Metadata = &cdx.Metadata{Timestamp: r.time.Format(time.RFC3339), Component: &self}
	components := make([]cdx.Component, 0, len(r.modules))
	refs := make([]string, 0, len(r.modules))
	for _, m := range r.modules {
		c := component(m.path, m.version, m.licences)
		if m.sum != "" {
			c.Properties = &[]cdx.Property{{Name: "go.sum", Value: m.sum}}
		}
		components = append(components, c)
		refs = append(refs, c.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: self.BOMRef, Dependencies: &refs}}
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return fmt.Errorf("write the bill of materials: %w", err)
	}
	return r.write("bezoar.cdx.json", out.Bytes(), 0o644)
}

func component(path, version string, licences []string) cdx.Component {
	ref := "pkg:golang/" + path + "@" + version
	c := cdx.Component{BOMRef: ref, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: ref}
	list := make(cdx.Licenses, 0, len(licences))
	for _, id := range licences {
		list = append(list, cdx.LicenseChoice{License: &cdx.License{ID: id}})
	}
	c.Licenses = &list
	return c
}

// licences is the text that has to come with the binaries: Bezoar's licence, Go's
// and those of all modules.
func (r *release) licences() ([]byte, error) {
	own, err := os.ReadFile(filepath.Join(r.source, "LICENSE"))
	if err != nil {
		return nil, err
	}
	standard, err := goLicence()
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "Bezoar (https://github.com/bezoar-dev/bezoar)\n\n%s\n", own)
	fmt.Fprintf(&out, "%s\nThe Go programming language\n\n%s\n", strings.Repeat("=", 80), standard)
	for _, m := range r.modules {
		fmt.Fprintf(&out, "%s\n%s %s (%s)\n\n%s", strings.Repeat("=", 80), m.path, m.version, strings.Join(m.licences, ", "), m.text)
	}
	return []byte(out.String()), nil
}

func (r *release) writeLicences() error {
	text, err := r.licences()
	if err != nil {
		return err
	}
	return r.write("licenses.txt", text, 0o644)
}

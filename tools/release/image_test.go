package main

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// image reads the image for this machine from the release, after the whole layout
// has been checked: media types, sizes and digests of all that it names.
func imageOf(t *testing.T, folder string) v1.Image {
	t.Helper()
	unpacked := t.TempDir()
	output(t, "tar", "--extract", "--file", filepath.Join(folder, "bezoar_image.tar"), "--directory", unpacked)
	top, err := layout.ImageIndexFromPath(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(top); err != nil {
		t.Fatal(err)
	}
	named, err := top.IndexManifest()
	if err != nil || len(named.Manifests) != 1 {
		t.Fatal("want one named image", named, err)
	}
	index, err := top.ImageIndex(named.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	variants, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range variants.Manifests {
		if m.Platform.Architecture == runtime.GOARCH {
			img, err := index.Image(m.Digest)
			if err != nil {
				t.Fatal(err)
			}
			return img
		}
	}
	t.Fatal("no image for this machine")
	return nil
}

func TestImage(t *testing.T) {
	img := imageOf(t, files(t))
	about, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := about.Config
	if c.User != "65532:65532" || about.OS != "linux" || about.Architecture != runtime.GOARCH || c.Healthcheck == nil || len(about.RootFS.DiffIDs) != 1 {
		text, _ := json.Marshal(about)
		t.Errorf("the image's configuration: %s", text)
	}
	content := mutate.Extract(img)
	defer content.Close()
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if h.Mode&0o6000 != 0 || h.Mode&0o002 != 0 && strings.Trim(h.Name, "/") != "tmp" {
			t.Errorf("%s has mode %o", h.Name, h.Mode)
		}
	}
}

// What the image starts gets ready, and its health check says so.
func TestImageRuns(t *testing.T) {
	folder := files(t)
	needRoot(t)
	img := imageOf(t, folder)
	about, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := about.Config
	r := &root{path: t.TempDir(), owner: c.User}
	packed := filepath.Join(t.TempDir(), "content.tar")
	out, err := os.Create(packed)
	if err != nil {
		t.Fatal(err)
	}
	content := mutate.Extract(img)
	_, err = io.Copy(out, content)
	if err := content.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil || out.Close() != nil {
		t.Fatal(err)
	}
	output(t, "tar", "--extract", "--same-owner", "--preserve-permissions", "--file", packed, "--directory", r.path)
	if n := strings.Count(r.text(t, "etc/ssl/certs/ca-certificates.crt"), "BEGIN CERTIFICATE"); n < 100 {
		t.Errorf("%d certificates, want those of Mozilla's list", n)
	}

	r.settings(t)
	stop := r.serve(t, append(c.Entrypoint, c.Cmd...)...)
	r.run(t, append(c.Healthcheck.Test[1:], "--admin", r.admin)...)
	stop()
}

package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user runs Bezoar in the image: nobody of the host, as a rule.
const user = 65532

// writeImage makes an image for each Linux from nothing but files of ours, and
// packs both as one OCI layout.
func (r *release) writeImage() error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range r.architectures() {
		img, err := r.image(arch)
		if err != nil {
			return fmt.Errorf("image for %s: %w", arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	folder, err := os.MkdirTemp("", "bezoar-image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	// The layout's index names one image, which has a variant for each platform.
	top, err := layout.Write(folder, empty.Index)
	if err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	name := map[string]string{"org.opencontainers.image.ref.name": "bezoar:" + r.version}
	if err := top.AppendIndex(index, layout.WithAnnotations(name)); err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	files, err := filesOf(folder)
	if err != nil {
		return err
	}
	packed, err := archive("", files, r.time)
	if err != nil {
		return err
	}
	return r.write("bezoar_image.tar", packed, 0o644)
}

// image is Bezoar alone: no shell, no libraries, no package manager.
func (r *release) image(arch string) (v1.Image, error) {
	files, err := r.installed(arch)
	if err != nil {
		return nil, err
	}
	files = append(files,
		file{name: "etc/passwd", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:0::/:/sbin/nologin\nbezoar:x:%d:%d::/var/lib/bezoar:/sbin/nologin\n", user, user)},
		file{name: "etc/group", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:\nbezoar:x:%d:\n", user)},
		file{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: authorities()},
		file{name: "tmp/", mode: 0o1777},
		file{name: "var/lib/bezoar/", mode: 0o750, owner: user},
	)
	for i, f := range files {
		if f.name == "usr/lib/systemd/system/bezoar.service" { // nobody reads it there
			files = append(files[:i], files[i+1:]...)
			break
		}
	}
	packed, err := archive("", files, r.time)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	img := mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1)
	at := v1.Time{Time: r.time}
	img, err = mutate.ConfigFile(img, &v1.ConfigFile{
		OS: "linux", Architecture: arch, Created: at, RootFS: v1.RootFS{Type: "layers"}, Config: r.config(),
	})
	if err != nil {
		return nil, err
	}
	return mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{Created: at, CreatedBy: "scripts/release"}})
}

func (r *release) config() v1.Config {
	return v1.Config{
		User:       fmt.Sprintf("%d:%d", user, user),
		Entrypoint: []string{"/usr/bin/bezoar"},
		Cmd:        []string{"serve", "-c", "/etc/bezoar/bezoar.yaml"},
		Env:        []string{"PATH=/usr/bin"},
		WorkingDir: "/var/lib/bezoar",
		Volumes:    map[string]struct{}{"/var/lib/bezoar": {}},
		StopSignal: "SIGTERM",
		Healthcheck: &v1.HealthConfig{
			Test:     []string{"CMD", "/usr/bin/bezoar", "fleet", "ls", "--check"},
			Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: 30 * time.Second, Retries: 3,
		},
		Labels: map[string]string{
			"org.opencontainers.image.source":   "https://github.com/bezoar-dev/bezoar",
			"org.opencontainers.image.version":  r.version,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
}

// authorities are the certificates that TLS trusts, of which an image from
// nothing has none: Mozilla's list, as the Go team publishes it, without those
// that are trusted under conditions that such a file cannot hold.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
	}
	return out.Bytes()
}

// filesOf reads a folder.
func filesOf(folder string) (files []file, err error) {
	err = fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(folder, name))
		files = append(files, file{name: name, mode: 0o644, data: data})
		return err
	})
	return files, err
}

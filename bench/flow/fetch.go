package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// The package of dagu that the figures are about, as the npm registry has it.
const (
	daguVersion = "1.30.2"
	daguPackage = "@dagu-org/dagu-linux-x64@" + daguVersion
	daguFile    = "dagu-org-dagu-linux-x64-" + daguVersion + ".tgz"
	daguBinary  = "package/bin/dagu"
	daguSHA512  = "ZEJPlVqvf0TbEymoSuDj5CV/T5hYrCwaD6zGy/O24oKTl0FFsGwCx2OW20D7D/Ck9ik3f0sZPut/O8TDCKSkfQ=="
)

// errNoRegistry means that npm is not installed, or that its registry does not answer.
var errNoRegistry = errors.New("dagu cannot be fetched from the npm registry; name a binary with -dagu")

// fetch returns the path of dagu's binary. It takes it from the cache folder, or from the npm registry.
func fetch(ctx context.Context, stderr io.Writer) (string, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "", fmt.Errorf("%w: only the package for linux/amd64 is pinned, this is %s/%s", errNoRegistry, runtime.GOOS, runtime.GOARCH)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w", err)
	}
	dir := filepath.Join(cache, "bezoar-bench", "dagu-"+daguVersion)
	bin := filepath.Join(dir, "dagu")
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the cache folder: %w", err)
	}
	fmt.Fprintln(stderr, "fetching", daguPackage, "into", dir)
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", "--pack-destination", dir, daguPackage)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: npm pack %s: %w\n%s", errNoRegistry, daguPackage, err, bytes.TrimSpace(out))
	}
	pack := filepath.Join(dir, daguFile)
	defer func() { _ = os.Remove(pack) }()
	return bin, unpack(pack, bin, daguSHA512)
}

// unpack checks a package's SHA-512 and writes the binary in it.
func unpack(pack, bin, want string) error {
	text, err := os.ReadFile(pack)
	if err != nil {
		return fmt.Errorf("read the package: %w", err)
	}
	sum := sha512.Sum512(text)
	if got := base64.StdEncoding.EncodeToString(sum[:]); got != want {
		return fmt.Errorf("%s has the SHA-512 %s, want %s", filepath.Base(pack), got, want)
	}
	zip, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("read the package: %w", err)
	}
	for files := tar.NewReader(zip); ; {
		h, err := files.Next()
		if err != nil {
			return fmt.Errorf("find %s in the package: %w", daguBinary, err)
		}
		if h.Name != daguBinary {
			continue
		}
		program, err := io.ReadAll(files)
		if err != nil {
			return fmt.Errorf("read %s from the package: %w", daguBinary, err)
		}
		if err := os.WriteFile(bin+".new", program, 0o755); err != nil {
			return fmt.Errorf("write dagu's binary: %w", err)
		}
		return os.Rename(bin+".new", bin)
	}
}

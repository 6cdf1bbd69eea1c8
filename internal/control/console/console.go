package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed static
var files embed.FS

// file is one embedded file, ready to be sent.
type file struct {
	content []byte
	kind    string
	tag     string
}

// Handler serves the pages at "/", "/queues", "/traffic", "/guards", "/flows" and
// "/outbox", with their CSS and modules.
type Handler struct {
	files map[string]file // by URL path
}

func New() (*Handler, error) {
	h := &Handler{files: make(map[string]file)}
	err := fs.WalkDir(files, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		kind, err := kindOf(name)
		if err != nil {
			return err
		}
		at := strings.TrimSuffix("/"+path.Base(name), ".html")
		if at == "/index" {
			at = "/"
		}
		sum := sha256.Sum256(content)
		h.files[at] = file{content, kind, `"` + hex.EncodeToString(sum[:8]) + `"`}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the console's files: %w", err)
	}
	return h, nil
}

// kindOf uses its own table, because the system's table differs between systems.
func kindOf(name string) (string, error) {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8", nil
	case ".css":
		return "text/css; charset=utf-8", nil
	case ".js":
		return "text/javascript; charset=utf-8", nil
	case ".svg":
		return "image/svg+xml", nil
	}
	return "", fmt.Errorf("%s: unknown content type", name)
}

// nothingHere answers a caller's request that was sent to this address.
const nothingHere = "Nothing is here. This is the admin address of Bezoar: the console is at /, the API below /api/v1/. Callers are served at another address, which the setting listen names."

// ServeHTTP sends one file. Browsers revalidate each file, so that files of different
// versions are never mixed.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the console only accepts GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	f, ok := h.files[r.URL.Path]
	if !ok {
		http.Error(w, nothingHere, http.StatusNotFound)
		return
	}
	head := w.Header()
	head.Set("Content-Type", f.kind)
	head.Set("Cache-Control", "no-cache")
	head.Set("ETag", f.tag)
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	head.Set("Content-Length", strconv.Itoa(len(f.content)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(f.content) // the client may have disconnected
	}
}

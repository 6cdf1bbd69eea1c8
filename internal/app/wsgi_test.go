package app_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestChunkedBodiesBeforeGunicorn: a body that curl sends in chunks, and that is longer than what is held in
// memory, reaches a WSGI application with its length. A gunicorn with one process answers others while curl is slow.
func TestChunkedBodiesBeforeGunicorn(t *testing.T) {
	t.Parallel()
	needs(t, "gunicorn", "curl")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "app.py"), []byte(`
def app(environ, start_response):
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    text = str(len(body)).encode()
    start_response("200 OK", [("Content-Length", str(len(text)))])
    return [text]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	b := follow(t, head("memory:", dir)+fmt.Sprintf(`listen: 127.0.0.1:0
fleets: {app: {command: [gunicorn, --workers, "1", --bind, "127.0.0.1:{port}", --chdir, %q, "app:app"], replicas: 1}}
routes: [{match: {path: /*}, fleet: app, buffer_body: 8MiB}]
`, dir))
	b.until("gunicorn answers", func() bool { status, _ := getText(t, b.url+"/"); return status == 200 })
	var said bytes.Buffer
	slow := exec.CommandContext(t.Context(), "curl", "-sS", "-T", "-", b.url+"/upload")
	slow.Stdout, slow.Stderr = &said, &said
	body, err := slow.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := slow.Start(); err != nil {
		t.Fatal(err)
	}
	const half = 1_000_000
	if _, err := body.Write(make([]byte, half)); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if status, text := getText(t, b.url+fmt.Sprint("/", i)); status != 200 || text != "0" {
			t.Errorf("beside a slow sender: %d %s", status, text)
		}
	}
	if _, err := io.Copy(body, bytes.NewReader(make([]byte, half))); err != nil {
		t.Fatal(err)
	}
	body.Close()
	if err := slow.Wait(); err != nil || said.String() != fmt.Sprint(2*half) {
		t.Errorf("the application got %q bytes, %v; want %d", said.String(), err, 2*half)
	}
}

package main

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/test/browsertest"
)

// picture is the console in README.md.
const picture = "docs/console.png"

// maxPicture bounds what README.md has a reader load.
const maxPicture = 200_000

// README.md shows the console of a Bezoar that has met a crashing request and a
// crashing message. `make picture` takes the picture anew; without it, this test
// looks whether the pages of that moment can still be drawn.
func TestPictureOfTheConsole(t *testing.T) {
	t.Parallel()
	have, err := os.ReadFile(filepath.Join("../..", picture))
	if err != nil && os.Getenv("BEZOAR_PICTURE") == "" {
		t.Fatal(err)
	}
	if len(have) > maxPicture {
		t.Errorf("%s has %d bytes, want at most %d", picture, len(have), maxPicture)
	}
	if !strings.Contains(read(t, "README.md"), "]("+picture+")") {
		t.Errorf("README.md does not show %s", picture)
	}
	browser := browsertest.Start(t)
	r := newBuilt(t, "README.md")
	settings := `store: "memory:"
listen: 127.0.0.1:8080
admin: 127.0.0.1:7070
sqs: 127.0.0.1:9324
fleets:
  search: {command: [python3, examples/python-server/server.py], replicas: 4, health: {path: /healthz}}
routes: [{match: {path: /*}, fleet: search, client: "header:X-Api-Key"}]
queues: {jobs: {}}
`
	if err := os.WriteFile(filepath.Join(r.dir, "picture.yaml"), []byte(r.ports.Replace(settings)), 0o600); err != nil {
		t.Fatal(err)
	}
	defer func() { r.stop() }()
	r.run(block{note: "background=http://127.0.0.1:8080/healthz", text: "./bezoar serve -c picture.yaml\n"}, nil)
	r.run(block{text: `until ./bezoar fleet ls --check; do sleep 0.2; done
for i in $(seq 40); do curl -s -o answer.txt -H "X-Api-Key: team-$((i % 3))" "http://127.0.0.1:8080/search?q=stone&page=$i"; done
for i in 1 2 3; do curl -s -H 'X-Api-Key: team-1' http://127.0.0.1:8080/crash; done
./bezoar queue send jobs '{"text": "bezoar"}' '{"crash": true}' '{"text": 70711}' '{"text": "cup"}'
./bezoar work --queue http://127.0.0.1:9324/000000000000/jobs --until-idle 8s -- python3 examples/handlers/python/process.py
until ./bezoar fleet ls --check; do sleep 0.2; done
`}, []string{"quarantine"})
	page := browser.Open("http://"+r.ports.Replace("127.0.0.1:7070")+"/", browsertest.Look{Width: 1200, Height: 900})
	page.Wait(`document.body.innerText.includes("GET /crash") && document.body.innerText.includes("2 dead letters")`)
	if problems := page.Problems(); len(problems) > 0 {
		t.Error(problems)
	}
	to := filepath.Join(t.TempDir(), "console.png")
	if os.Getenv("BEZOAR_PICTURE") != "" {
		to = filepath.Join("../..", picture)
	}
	page.Picture(to)
	taken, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	if size, err := png.DecodeConfig(bytes.NewReader(taken)); err != nil || size.Width != 1200 || len(taken) > maxPicture {
		t.Errorf("the picture has %d bytes and is %d wide, %v; want at most %d bytes, 1200 wide", len(taken), size.Width, err, maxPicture)
	}
}

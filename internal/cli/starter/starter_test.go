package starter_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar/internal/cli/starter"
	"github.com/bezoar-dev/bezoar/internal/control/config"
)

func TestLook(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string // the command
		from  string
	}{
		"nothing":             {nil, "./server", ""},
		"a Procfile":          {map[string]string{"Procfile": "worker: x\nweb: bin/serve -p $PORT\n", "package.json": `{"scripts":{"start":"node a.js"}}`}, "sh -c exec bin/serve -p $PORT", "Procfile"},
		"Django":              {map[string]string{"manage.py": "#", "shop/wsgi.py": ""}, "python3 manage.py runserver --noreload 127.0.0.1:{port}", "manage.py"},
		"Django and gunicorn": {map[string]string{"manage.py": "#", "shop/wsgi.py": "", "requirements.txt": "Gunicorn==23\n"}, "gunicorn shop.wsgi --workers 1 --bind 127.0.0.1:{port}", "manage.py"},
		"Node":                {map[string]string{"package.json": `{"scripts":{"start":"node server.js"}}`}, "node server.js", "package.json"},
		"Node, by a tool":     {map[string]string{"package.json": `{"scripts":{"start":"next start -p $PORT"}}`}, "npm start --silent", "package.json"},
		"Node, no script":     {map[string]string{"package.json": `{"main":"index.js"}`}, "node index.js", "package.json"},
		"broken package.json": {map[string]string{"package.json": `{`}, "./server", ""},
		"Rack":                {map[string]string{"config.ru": "run App"}, "bundle exec puma -w 0 -b tcp://127.0.0.1:{port}", "config.ru"},
		"FastAPI":             {map[string]string{"main.py": "import x\napi = FastAPI(title='a')\n"}, "uvicorn main:api --host 127.0.0.1 --port {port}", "main.py"},
		"Flask":               {map[string]string{"app.py": "app = Flask(__name__)\n"}, "gunicorn app:app --workers 1 --bind 127.0.0.1:{port}", "app.py"},
		"Go":                  {map[string]string{"go.mod": "module example.com/shop\n", "main.go": "package main"}, "./shop", "go.mod"},
		"Go, a command":       {map[string]string{"go.mod": "module example.com/shop\n", "cmd/web/main.go": "package main"}, "./web", "go.mod"},
		"Go, a library":       {map[string]string{"go.mod": "module example.com/shop\n"}, "./server", ""},
		"Dockerfile":          {map[string]string{"Dockerfile": "FROM x\nENTRYPOINT [\"/app\"]\ncmd [\"-v\"]\n"}, "/app -v", "Dockerfile"},
		"Dockerfile, a shell": {map[string]string{"Dockerfile": "FROM x\nCMD python app.py\n"}, "sh -c exec python app.py", "Dockerfile"},
		"Dockerfile, lines":   {map[string]string{"Dockerfile": "FROM x\r\nHEALTHCHECK --interval=5s \\\r\n  CMD curl x\r\nCMD gunicorn a:b \\\r\n  -b :$PORT\r\n"}, "sh -c exec gunicorn a:b -b :$PORT", "Dockerfile"},
		"Dockerfile, stages":  {map[string]string{"Dockerfile": "FROM x AS build\nENTRYPOINT [\"make\"]\nFROM y\nCMD [\"/app\"]\n"}, "/app", "Dockerfile"},
		"Dockerfile, both":    {map[string]string{"Dockerfile": "FROM x\nENTRYPOINT /app -v\nCMD [\"-q\"]\n"}, "sh -c exec /app -v", "Dockerfile"},
		"Procfile, variables": {map[string]string{"Procfile": "web: NODE_ENV=production A='b c' node server.js\n"}, "sh -c NODE_ENV=production A='b c' exec node server.js", "Procfile"},
		"Procfile, two steps": {map[string]string{"Procfile": "web: ./migrate && ./serve\n"}, "sh -c ./migrate && ./serve", "Procfile"},
		"Go, a hostile name":  {map[string]string{"go.mod": "module x/a\u0085listen:\n", "main.go": "package main"}, "./server", ""},
		"Go, a hostile path":  {map[string]string{"go.mod": "module x\n", "cmd/a\nlisten: b/main.go": "package main"}, "./server", ""},
		"odd words":           {map[string]string{"Procfile": "web: x --say '# \"{}\" %\u00e9'\n"}, "sh -c exec x --say '# \"{}\" %\u00e9'", "Procfile"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := fstest.MapFS{}
			for file, text := range c.files {
				folder[file] = &fstest.MapFile{Data: []byte(text)}
			}
			g, err := starter.Look(folder)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(g.Command, " "); got != c.want || g.From != c.from {
				t.Errorf("got %q from %q", got, g.From)
			}
			cfg, err := config.Parse("bezoar.yaml", g.File())
			if err != nil {
				t.Fatalf("the file is refused: %v\n%s", err, g.File())
			}
			if got, want := cfg.Routes[0].BufferBody > 0, strings.Contains(c.want, "gunicorn") || strings.Contains(c.want, "manage.py"); got != want {
				t.Errorf("bodies are buffered: %v, want %v", got, want)
			}
			if d := cmp.Diff(g.Command, cfg.Fleets["app"].Command); d != "" {
				t.Errorf("the file has another command (-want +got):\n%s", d)
			}
		})
	}
}

package config

import (
	"strings"
	"testing"
)

func TestWarnings(t *testing.T) {
	c, err := Parse("w", []byte(`
fleets:
  idle: {command: [./x, --listen, ":$PORT"]}
  lone: {workers: [http://h:1]}
  shell: {command: [/bin/sh, -c, "./x $PORT"]}
routes:
  - {match: {path: /a}, fleet: lone}
  - {match: {path: /b}, fleet: shell}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := `fleets.idle: no route leads to it
fleets.idle.command[2]: no shell reads ":$PORT"; write {port} for the port
fleets.lone: with one worker there is no lane to run suspects in`
	if got := strings.Join(c.Warnings(), "\n"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := Default().Warnings(); len(got) != 1 {
		t.Errorf("an empty file warns %q", got)
	}
}

package config

import (
	"errors"
	"strings"
	"testing"
)

type sample struct {
	Name  string          `yaml:"name"`
	Parts map[string]part `yaml:"parts"`
	Words []string        `yaml:"words"`
}

type part struct {
	Words []string `yaml:"words"`
}

func TestDecodeIsStrictAboutOtherFiles(t *testing.T) {
	var s sample
	err := Decode("s.yaml", []byte("name: a\nparts: {b: {words: [x, y]}}\n"), &s, func() []Fault {
		return []Fault{{Path: "parts.b.words[1]", Problem: "is y", Fix: "write z"}}
	})
	if err == nil || err.Error() != "s.yaml:2:24: parts.b.words[1]: is y — write z" {
		t.Fatalf("got %v", err)
	}
	if s.Name != "a" || s.Parts["b"].Words[1] != "y" {
		t.Fatalf("read %+v", s)
	}
	for in, want := range map[string]string{
		"nmae: a":      "s.yaml:1:1: nmae: is not a known key — did you mean name?",
		"listen: a":    "s.yaml:1:1: listen: is not a known key — remove it; the keys here are name, parts, words",
		"name: [a]":    "s.yaml:1:7: name: is a list, want one value — write a single value",
		"name: a\n  b": "",
	} {
		err := Decode("s.yaml", []byte(in), &sample{}, nil)
		if got := errText(err); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if err := Decode("s.yaml", nil, &sample{}, nil); err != nil {
		t.Errorf("an empty file: %v", err)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestTreeKeepsPlacesAndRefusesRepeatedKeys(t *testing.T) {
	n, err := Tree("h.json", []byte("{\n \"logs-*\": {\"docs\": 7, \"x\": [1, null]}\n}"))
	if err != nil {
		t.Fatal(err)
	}
	docs := n.Get("logs-*").Get("docs")
	if docs.Kind != Scalar || docs.Text != "7" || docs.Line != 2 || docs.Column != 21 {
		t.Errorf("docs is %+v", docs)
	}
	if x := n.Get("logs-*").Get("x"); x.Kind != List || x.Values[1].Kind != Null || n.Get("y") != nil {
		t.Errorf("x is %+v", x)
	}
	if empty, err := Tree("h", nil); err != nil || empty.Kind != Null {
		t.Errorf("an empty file: %+v, %v", empty, err)
	}
	var faults *Faults
	if _, err := Tree("h", []byte("a: 1\na: 2\n")); !errors.As(err, &faults) || faults.List[0].Line != 2 {
		t.Errorf("a repeated key: %v", err)
	}
	if _, err := Tree("h", []byte("a: "+strings.Repeat("[", 40)+strings.Repeat("]", 40))); err == nil {
		t.Error("deep nesting was accepted")
	}
}

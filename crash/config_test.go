package crash

import (
	"strings"
	"testing"
)

func TestValidateJoinsEveryFault(t *testing.T) {
	_, err := New(Config{Own: []string{"", "a"}, Library: []string{"[a"}})
	if err == nil || !strings.Contains(err.Error(), "Own[0]") || !strings.Contains(err.Error(), "Library[0]") {
		t.Errorf("got %v, want both faults with their fields", err)
	}
	if _, err := New(Config{}); err != nil {
		t.Errorf("the zero Config: %v", err)
	}
}

func TestWhoseCode(t *testing.T) {
	ours := &language{library: func(f Frame) bool { return strings.Contains(f.File, "site-packages") }}
	for _, c := range []struct {
		config  Config
		frame   Frame
		library bool
	}{
		{Config{}, Frame{File: "/srv/shop/a.py"}, false},
		{Config{}, Frame{File: "/usr/lib/site-packages/a.py"}, true},
		{Config{Root: "/srv/shop"}, Frame{File: "/srv/shop/a.py"}, false},
		{Config{Root: "/srv/shop/"}, Frame{File: "/srv/shop/site-packages/a.py"}, true},
		{Config{Root: "/srv/shop"}, Frame{File: "/srv/shopping/a.py"}, true},
		{Config{Root: "/srv/shop"}, Frame{File: "jobs/a.py"}, false},
		{Config{Root: `C:\shop`}, Frame{File: `C:\shop\a.py`}, false},
		{Config{Own: []string{"site-packages/acme"}}, Frame{File: "/usr/lib/site-packages/acme/a.py"}, false},
		{Config{Own: []string{"site-packages/acme"}}, Frame{File: "/usr/lib/site-packages/acmes/a.py"}, true},
		{Config{Library: []string{"*.pb.go"}}, Frame{File: "/srv/shop/a.pb.go"}, true},
		{Config{Library: []string{"com.acme.core."}}, Frame{Module: "com.acme.core.Retry"}, true},
		{Config{Own: []string{"a.py"}, Library: []string{"a.py"}}, Frame{File: "a.py"}, false},
	} {
		p, err := New(c.config)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.library(ours, c.frame); got != c.library {
			t.Errorf("%+v %+v: library %v, want %v", c.config, c.frame, got, c.library)
		}
	}
}

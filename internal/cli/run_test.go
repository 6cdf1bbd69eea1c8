package cli

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

func TestSettingsFaultsNameFlagsThatExist(t *testing.T) {
	var root grammar
	parser, err := newParser(&root)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"CMD": true, "-n": true}
	for _, n := range parser.Root.Children {
		if n.Name == "run" {
			for _, f := range n.Flags {
				known["--"+f.Name] = true
			}
		}
	}
	for _, path := range []string{
		"listen", "admin", "store", "fleets.app.replicas", "fleets.app.workers[3]", "fleets.app.command[0]", "fleets.app.memory",
		"fleets.app.grace", "fleets.app.drain", "fleets.app.health.path", "routes[0].timeout", "routes[0].buffer", "routes[0].ignore[0]",
		"routes[0].client", "routes[0].quarantine.after", "routes[0].quarantine.within", "routes[0].quarantine.for",
		"routes[0].quarantine.max", "routes[0].retry.replay",
	} {
		if flag := flagOf(path); !known[flag] {
			t.Errorf("%s is called %s, and there is no such flag", path, flag)
		}
	}
}

func TestExitCodes(t *testing.T) {
	for code, want := range map[string]int{
		adminapi.CodeInvalid: 2, adminapi.CodeTooLarge: 2, adminapi.CodeNotFound: 3, adminapi.CodeUnauthorized: 4, adminapi.CodeForbidden: 4,
		adminapi.CodeConflict: 5, adminapi.CodeTimeout: 7, adminapi.CodeUnavailable: 8, adminapi.CodeInternal: 1, adminapi.CodeNotReplayable: 1,
	} {
		err := fmt.Errorf("list: %w", adminapi.NewProblem(500, code, ""))
		if got := codeOf(err); got != want {
			t.Errorf("problem %s exits %d, want %d", code, got, want)
		}
	}
	if got := codeOf(errors.New("anything")); got != 1 {
		t.Errorf("an unknown error exits %d", got)
	}
}

func TestATakenAddressComesWithAHint(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = net.Listen("tcp", l.Addr().String())
	if hint := hintFor(fmt.Errorf("gateway server: %w", err)); err == nil || !strings.Contains(hint, "--listen") {
		t.Errorf("%v: hint %q", err, hint)
	}
}

func TestEachGoesOnAfterFailures(t *testing.T) {
	bad := exitf(exitNotFound, "bad")
	for _, tt := range []struct {
		fail     []bool
		code     int
		reported int
	}{
		{[]bool{false, false}, 0, 0},
		{[]bool{true}, exitNotFound, 0},
		{[]bool{true, false, true}, exitPartly, 2},
		{[]bool{true, true}, exitNotFound, 2},
	} {
		done := 0
		var stderr strings.Builder
		err := each(&session{Process: Process{Stderr: &stderr}}, tt.fail, func(fail bool) error {
			done++
			if fail {
				return bad
			}
			return nil
		})
		reported := strings.Count(stderr.String(), "bezoar: bad\n")
		if codeOf(err) != tt.code || reported != tt.reported || done != len(tt.fail) {
			t.Errorf("%v: exit %d, %d reported, %d done", tt.fail, codeOf(err), reported, done)
		}
	}
}

package proc

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"strings"
	"testing"
)

func TestFindUser(t *testing.T) {
	t.Parallel()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range []string{me.Username, me.Uid, me.Uid + ":" + me.Gid} {
		u, err := FindUser(spec)
		if err != nil || u.name != me.Username || !strings.Contains(strings.Join(u.Env(), " "), "HOME="+me.HomeDir) {
			t.Errorf("%s is %+v, %v", spec, u, err)
		}
	}
	for spec, say := range map[string]string{"no-such-user": "there is no user", me.Uid + ":no-such-group": "there is no group", ":": "there is no user"} {
		if u, err := FindUser(spec); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q is %+v, %v, want %q", spec, u, err, say)
		}
	}
	// Containers have numbers without a name.
	if os.Geteuid() == 0 {
		if u, err := FindUser("47110:47111"); err != nil || u.uid != 47110 || u.gid != 47111 || len(u.groups) != 1 || u.groups[0] != 47111 {
			t.Errorf("a number without a name is %+v, %v", u, err)
		}
		cmd := exec.Command("id")
		u, err := FindUser("47110:47111")
		if err != nil {
			t.Fatal(err)
		}
		cmd.Dir, cmd.SysProcAttr = "/", u.Become(DieWithThread(OwnGroup()))
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "uid=47110 gid=47111 groups=47111\n" {
			t.Errorf("it runs as %s, %v", out, err)
		}
	}
	if u, err := FindUser("47110"); err == nil || !strings.Contains(err.Error(), "47110:47110") {
		t.Errorf("a number without a name and a group is %+v, %v", u, err)
	}
	if u, err := FindUser(""); u != nil || err != nil || u.Env() != nil {
		t.Errorf("nobody is %+v, %v", u, err)
	}
}

func TestAChildRunsAsAnotherUser(t *testing.T) {
	t.Parallel()
	u, err := FindUser("nobody")
	if os.Geteuid() != 0 {
		if err == nil || !strings.Contains(err.Error(), "only root") {
			t.Errorf("who is not root got %+v, %v", u, err)
		}
		return
	}
	if err != nil {
		t.Skip(err)
	}
	sleeper := exec.Command("sleep", "60")
	sleeper.Dir, sleeper.SysProcAttr = "/", u.Become(DieWithThread(OwnGroup()))
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	err = u.As(func() error { return Limits{CPU: 60, Tasks: 1000}.Apply(sleeper.Process.Pid) })
	if err = errors.Join(err, sleeper.Process.Kill()); err != nil || os.Getuid() != 0 {
		t.Errorf("its limits: %v; we are user %d", err, os.Getuid())
	}
	_ = sleeper.Wait() // it was killed
	cmd := exec.Command("sh", "-c", "id -u; id -G; echo $HOME $USER")
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", append(os.Environ(), u.Env()...), u.Become(DieWithThread(OwnGroup()))
	out, err := cmd.CombinedOutput()
	nobody, _ := user.Lookup("nobody")
	if want := nobody.Uid + "\n" + nobody.Gid + "\n" + nobody.HomeDir + " nobody\n"; err != nil || string(out) != want {
		t.Errorf("the child says %q, %v, want %q", out, err, want)
	}
}

// Nobody but root may start programs as somebody else, or in another group: a group
// that is written is refused and not ignored.
func TestWhoMayBeStarted(t *testing.T) {
	for _, test := range []struct {
		uid, gid int
		group    bool
		say      string
	}{
		{0, 0, true, ""},
		{1000, 50, false, ""},
		{1000, 50, true, "group 60 is not the group that Bezoar runs in, which is 50"},
		{1000, 60, true, ""},
		{1001, 60, true, "does not run as user"},
	} {
		err := (&User{name: "app", uid: 1000, gid: 60}).possible(test.uid, test.gid, test.group)
		if test.say == "" && err != nil || test.say != "" && (err == nil || !strings.Contains(err.Error(), test.say)) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

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

package proc

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
)

// User is the user that a child runs as; nil means the user of this process.
type User struct {
	name, home string
	uid, gid   uint32
	groups     []uint32
}

// FindUser returns the user with a name or number, "app" or "1000", with the user's groups, or with one group: "app:web".
// Numbers that the system has no name for, as in containers, need a group: "1000:1000". For "" it returns nil. Only root
// can run children as another user.
func FindUser(spec string) (*User, error) {
	if spec == "" {
		return nil, nil
	}
	name, group, one := strings.Cut(spec, ":")
	u, err := user.Lookup(name)
	if err != nil {
		u, err = user.LookupId(name)
	}
	switch {
	case err == nil:
	case !number(name):
		return nil, fmt.Errorf("there is no user %.40q", name)
	case !one:
		return nil, fmt.Errorf("there is no user %.40q: write a group as well, as in %[1]s:%[1]s", name)
	default:
		u = &user.User{Uid: name, Username: name, HomeDir: "/"}
	}
	var groups []string
	if one {
		if u.Gid, err = groupID(group); err != nil {
			return nil, err
		}
		groups = []string{u.Gid}
	} else if groups, err = u.GroupIds(); err != nil {
		return nil, fmt.Errorf("the groups of user %.40q: %w", name, err)
	}
	out := &User{name: u.Username, home: u.HomeDir}
	for _, id := range append([]string{u.Uid, u.Gid}, groups...) {
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("user %.40q has the id %.40q, which is not a number", name, id)
		}
		out.groups = append(out.groups, uint32(n))
	}
	out.uid, out.gid, out.groups = out.groups[0], out.groups[1], out.groups[2:]
	if err := out.possible(os.Geteuid(), os.Getegid(), one); err != nil {
		return nil, err
	}
	return out, nil
}

// possible returns why this process, with these ids, cannot run a child as u. Only root can change the group, so a group in
// the settings is an error and is not ignored.
func (u *User) possible(uid, gid int, group bool) error {
	switch {
	case uid == 0:
		return nil
	case uint32(uid) != u.uid:
		return fmt.Errorf("only root may start programs as another user, and Bezoar does not run as user %.40q", u.name)
	case group && uint32(gid) != u.gid:
		return fmt.Errorf("group %d is not the group that Bezoar runs in, which is %d, and only root may start programs in another: remove the group, or start Bezoar in it", u.gid, gid)
	}
	return nil
}

// groupID returns the number of a group, given as a number or a name.
func groupID(group string) (string, error) {
	if g, err := user.LookupGroup(group); err == nil {
		return g.Gid, nil
	}
	if !number(group) {
		return "", fmt.Errorf("there is no group %.40q", group)
	}
	return group, nil
}

// number reports whether s can be the number of a user or a group.
func number(s string) bool {
	_, err := strconv.ParseUint(s, 10, 32)
	return err == nil
}

// Env returns the variables that tell programs which user they run as.
func (u *User) Env() []string {
	if u == nil {
		return nil
	}
	return []string{"HOME=" + u.home, "USER=" + u.name, "LOGNAME=" + u.name}
}

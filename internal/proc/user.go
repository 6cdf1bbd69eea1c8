package proc

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
)

// User is who a child runs as; nil is who we are.
type User struct {
	name, home string
	uid, gid   uint32
	groups     []uint32
}

// FindUser returns the user of a name or number, "app" or "1000", with the user's
// groups, or in one group: "app:web". "" is nil. Only root may run children as
// somebody else.
func FindUser(spec string) (*User, error) {
	if spec == "" {
		return nil, nil
	}
	name, group, one := strings.Cut(spec, ":")
	u, err := user.Lookup(name)
	if err != nil {
		if u, err = user.LookupId(name); err != nil {
			return nil, fmt.Errorf("there is no user %.40q", name)
		}
	}
	groups, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("the groups of user %.40q: %w", name, err)
	}
	if one {
		g, err := user.LookupGroup(group)
		if err != nil {
			if g, err = user.LookupGroupId(group); err != nil {
				return nil, fmt.Errorf("there is no group %.40q", group)
			}
		}
		u.Gid, groups = g.Gid, []string{g.Gid}
	}
	out := &User{name: u.Username, home: u.HomeDir}
	for _, id := range append([]string{u.Uid, u.Gid}, groups...) {
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("user %.40q has the id %.40q, which is no number", name, id)
		}
		out.groups = append(out.groups, uint32(n))
	}
	out.uid, out.gid, out.groups = out.groups[0], out.groups[1], out.groups[2:]
	if me := os.Geteuid(); me != 0 && uint32(me) != out.uid {
		return nil, fmt.Errorf("user %.40q is not who runs Bezoar, and only root may start programs as somebody else", name)
	}
	return out, nil
}

// Env is what programs look for who they are.
func (u *User) Env() []string {
	if u == nil {
		return nil
	}
	return []string{"HOME=" + u.home, "USER=" + u.name, "LOGNAME=" + u.name}
}

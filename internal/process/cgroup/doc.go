// Package cgroup finds and makes the kernel's groups of processes. It reads how often the
// out-of-memory killer struck in a group, starts a process in a new group with its own
// memory limit ([Group]), and keeps groups that run one job after the other and also
// limit the number of processes ([Cell]).
//
// It supports both versions and mixtures: it uses a controller of version 1 if one is
// mounted, else version 2.
//
// # Required permissions
//
// Version 1: permission to make a directory beneath our own group. Version 2: the same,
// and the controller (memory, pids) for children, which the kernel gives only to a group
// without processes of its own. Under systemd that is Delegate=memory pids together with
// DelegateSubgroup=…; the group above ours is used only if it is marked as delegated to
// us. Without these permissions, [Create] returns an error that is [ErrUnavailable] and
// changes nothing.
//
// # Guarantees
//
// A process started by [Group.Start] is in its group from birth, and so is everything
// that it starts. [Group.Remove] leaves nothing alive in it. The next Create removes
// groups beside it whose owner is gone.
//
// Reading costs one small file. The counts are kills (oom_kill), not attempts to reclaim.
package cgroup

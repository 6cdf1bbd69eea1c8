// Package cgroup finds and makes the kernel's groups of processes: it reads how
// often the out-of-memory killer struck in one, starts a process in a new one
// with a memory limit of its own ([Group]), and keeps places for one job after
// the other, which limit how many processes there are as well ([Cell]).
//
// It speaks both versions and their mixture: a controller of version 1 is used
// where one is mounted, else version 2.
//
// # What must be permitted
//
// Version 1: making a directory beneath our own group. Version 2: the same, and
// the controller (memory, pids) for children, which the kernel gives only to a group
// without processes of its own. Under systemd that is Delegate=memory pids together
// with DelegateSubgroup=…; the group above ours is used only if it is marked as
// delegated to us. Where that is not so, [Create] returns an error that is
// [ErrUnavailable] and nothing has changed.
//
// # Guarantees
//
// A process started by [Group.Start] is in its group from birth, and so is
// everything that it starts. [Group.Remove] leaves nothing alive in it. Groups
// of an owner that is gone are removed by the next Create beside them.
//
// Reading costs one small file. The counts are of kills (oom_kill), not of
// attempts to reclaim.
package cgroup

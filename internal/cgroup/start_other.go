//go:build !linux

package cgroup

import "os/exec"

// Start returns ErrUnavailable: only Linux has memory groups.
func (g *Group) Start(*exec.Cmd) error { return ErrUnavailable }

// Kill does nothing: no group can have been made.
func (g *Group) Kill() {}

func delegated(string) bool { return false }

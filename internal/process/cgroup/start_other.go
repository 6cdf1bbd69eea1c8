//go:build !linux

package cgroup

import (
	"os"
	"os/exec"
	"syscall"
)

// Start returns ErrUnavailable: only Linux has memory groups.
func (g *Group) Start(*exec.Cmd) error { return ErrUnavailable }

// Kill does nothing: Create never succeeds here.
func (g *Group) Kill() {}

func (c *Cell) Enter() error { return ErrUnavailable }

func (c *Cell) Leave() {}

func (c *Cell) Apply(*syscall.SysProcAttr) {}

func (g *Group) killListed(bool) {}

func peek(string, []byte) (int, error) { return 0, ErrUnavailable }

func readStart(*os.File, []byte) int { return 0 }

func delegated(string) bool { return false }

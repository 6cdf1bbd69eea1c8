package procstat

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// Pressure returns the pressure on the whole machine.
func Pressure() (PSI, error) {
	return pressure("/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io")
}

func pressure(cpu, memory, io string) (PSI, error) {
	var p PSI
	var buf [1024]byte
	for _, r := range [...]struct {
		name string
		into *Stall
	}{{cpu, &p.CPU}, {memory, &p.Memory}, {io, &p.IO}} {
		text, err := read(r.name, buf[:])
		if err != nil {
			return PSI{}, fmt.Errorf("pressure: %w", absent(err))
		}
		if *r.into, err = parsePressure(text); err != nil {
			return PSI{}, fmt.Errorf("read %s: %w", r.name, err)
		}
	}
	return p, nil
}

// absent returns ErrUnsupported if the kernel does not have the file, or was started with psi=0.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return err
}

// Memory returns the memory of the machine and of this process's groups.
func Memory() (Mem, error) {
	var buf [maxFile]byte
	text, err := read("/proc/meminfo", buf[:])
	if err != nil {
		return Mem{}, fmt.Errorf("memory: %w", absent(err))
	}
	var m Mem
	if m.Total, m.Available, err = parseMeminfo(text); err != nil {
		return Mem{}, err
	}
	g, err := GroupOf(unix.Getpid())
	if errors.Is(err, ErrUnsupported) {
		return m, nil
	}
	if err != nil {
		return Mem{}, err
	}
	if m.Group, err = g.Memory(); err != nil && !errors.Is(err, ErrUnsupported) {
		return Mem{}, err
	}
	return m, nil
}

// Disk returns the space on the file system of a path. It may block if the disk does not answer.
func Disk(path string) (Space, error) {
	var st unix.Statfs_t
	if _, err := retry(func() (int, error) { return 0, unix.Statfs(path, &st) }); err != nil {
		return Space{}, fmt.Errorf("space on the disk of %s: %w", path, err)
	}
	unit := uint64(max(st.Frsize, 1))
	return Space{
		Total: bytesOf(st.Blocks, unit), Free: bytesOf(min(st.Bfree, st.Blocks), unit), Available: bytesOf(min(st.Bavail, st.Blocks), unit),
		Inodes: bytesOf(st.Files, 1), FreeInodes: bytesOf(min(st.Ffree, st.Files), 1),
	}, nil
}

// bytesOf multiplies without overflow: a network file system may report any number.
func bytesOf(n, unit uint64) int64 {
	if n > unlimited/unit {
		return unlimited
	}
	return int64(n * unit)
}

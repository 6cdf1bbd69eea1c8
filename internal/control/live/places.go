package live

import (
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is the maximum number of symbolic links on a path, as in the kernel.
const maxLinks = 40

// places lists the names that determine the targets of the paths, by directory: the file's
// own name, those of all symbolic links on the path, and, if the path is broken, the
// missing name. A ConfigMap of Kubernetes is
//
//	/etc/bezoar/bezoar.yaml -> ..data/bezoar.yaml
//	/etc/bezoar/..data      -> ..2026_05_04
//
// and changes when the second link is replaced.
func places(paths []string) map[string]map[string]bool {
	found := make(map[string]map[string]bool)
	for _, path := range paths {
		findPlaces(found, path)
	}
	return found
}

func findPlaces(found map[string]map[string]bool, path string) {
	add := func(folder, name string) {
		if found[folder] == nil {
			found[folder] = make(map[string]bool)
		}
		found[folder][name] = true
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return
	}
	here, rest := root(whole)
	for links := 0; len(rest) > 0 && links <= maxLinks; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			here = filepath.Dir(here)
			continue
		}
		next := filepath.Join(here, name)
		info, err := os.Lstat(next)
		if err != nil {
			add(here, name)
			break
		}
		if info.Mode()&os.ModeSymlink != 0 {
			add(here, name)
			links++
			target, err := os.Readlink(next)
			if err != nil {
				break
			}
			more := parts(target)
			if filepath.IsAbs(target) {
				here, more = root(target)
			}
			rest = append(more, rest...)
			continue
		}
		if len(rest) == 0 {
			add(here, name)
		}
		here = next
	}
}

// root splits an absolute path into its root and the names below it.
func root(path string) (top string, names []string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), parts(path[len(volume):])
}

func parts(path string) []string { return strings.Split(filepath.ToSlash(path), "/") }

func split(path string) (folder, name string) { return filepath.Dir(path), filepath.Base(path) }

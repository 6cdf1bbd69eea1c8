package flowfile

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/regular"
	"github.com/bezoar-dev/bezoar/internal/each"
)

// MaxFile is the most bytes of a file: enough for [flow.MaxTasks] tasks.
const MaxFile = 16 << 20

func bounds() config.Bounds {
	return config.Bounds{Bytes: MaxFile, Values: 1_000_000, Entries: flow.MaxTasks}
}

// Load reads the flow in a file. Faults in it are a [*config.Faults].
func Load(path string) (flow.Definition, error) {
	data, err := regular.Read(path, MaxFile)
	if err != nil {
		return flow.Definition{}, fmt.Errorf("read the flow: %w", err)
	}
	return Parse(path, data)
}

// Parse parses a flow; name is used in messages.
func Parse(name string, data []byte) (flow.Definition, error) {
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return flow.Definition{}, fmt.Errorf("read the flow: %w", err)
	}
	var f file
	var d flow.Definition
	err = config.DecodeWithin(bounds(), name, data, &f, func() []config.Fault {
		if f.Name == "" {
			f.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
		}
		c := &checker{f: &f}
		d = c.definition(dir)
		c.check(&d)
		return c.faults
	})
	if err != nil {
		return flow.Definition{}, err
	}
	return d, nil
}

// Files holds the flows of a folder by the paths of their files.
type Files map[string]flow.Definition

// Definitions returns the flows in the order of their paths.
func (f Files) Definitions() []flow.Definition {
	return each.Of(slices.Sorted(maps.Keys(f)), func(path string) flow.Definition { return f[path] })
}

// Reread reads the flows in all *.yaml and *.yml files of a folder. Faults of all files are joined. Two flows with one name
// are a fault. For a file with a fault it returns the flow from was, if any, together with the faults. If the folder cannot
// be read, it returns was unchanged.
func Reread(dir string, was Files) (Files, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return was, fmt.Errorf("read the flows: %w", err)
	}
	all, from := Files{}, map[string]string{}
	var errs []error
	var broken []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		d, err := Load(path)
		if err == nil && from[d.Name] != "" {
			err = fmt.Errorf("%s: the flow %s is also in %s — give one of them another name", path, d.Name, from[d.Name])
		}
		if err != nil {
			errs, broken = append(errs, err), append(broken, path)
			continue
		}
		from[d.Name], all[path] = path, d
	}
	for _, path := range broken {
		if d, ok := was[path]; ok && from[d.Name] == "" {
			from[d.Name], all[path] = path, d
		}
	}
	return all, errors.Join(errs...)
}

package flowfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/config"
	"github.com/bezoar-dev/bezoar/internal/regular"
)

// MaxFile bounds a file: it has room for [flow.MaxTasks] tasks.
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

// Parse reads a flow; name stands for the file.
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

// Folder reads the flows in all *.yaml and *.yml files of a folder, in the order of
// their names. Faults of all files are joined. Two flows with one name are a fault.
func Folder(dir string) ([]flow.Definition, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the flows: %w", err)
	}
	var all []flow.Definition
	var errs []error
	from := map[string]string{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		d, err := Load(path)
		switch {
		case err != nil:
			errs = append(errs, err)
		case from[d.Name] != "":
			errs = append(errs, fmt.Errorf("%s: the flow %s is also in %s — give one of them another name", path, d.Name, from[d.Name]))
		default:
			from[d.Name] = path
			all = append(all, d)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return all, nil
}

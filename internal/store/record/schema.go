package record

import (
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// NewestSchema returns the version to which the migrations of a store lead.
func NewestSchema(migrations fs.FS) (newest int64, err error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return 0, fmt.Errorf("migration %s: %w", name, err)
		}
		newest = max(newest, version)
	}
	return newest, nil
}

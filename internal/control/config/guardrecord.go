package config

// GuardRecord writes the queries of a route to a file, for tests of limits. Queries are
// written unchanged.
type GuardRecord struct {
	File     string `yaml:"file"`                            // File of JSON lines. Only its owner can read it.
	MaxBytes Size   `yaml:"max_bytes" range:"64KiB..100GiB"` // Size at which a new file begins. One older file is kept.
	Sample   Ratio  `yaml:"sample" range:"0.01%..100%"`      // Share of the queries that are recorded.
}

func (r *GuardRecord) setDefaults() { *r = GuardRecord{MaxBytes: 64 << 20, Sample: 1} }

func (r *GuardRecord) check(k *checker, at string) {
	k.add(at, flawIf(r.File == "", "add file: queries.ndjson", "names no file"), at+".file")
}

package sqlite

import (
	"io/fs"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/queue"
)

// openOld makes a file with the schema of the first so many migrations, and what
// the statements put there.
func openOld(t *testing.T, migrated int, statements string) *DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bezoar.db")
	raw := openRaw(t, path)
	for _, pragma := range []string{"PRAGMA journal_mode = WAL", "PRAGMA application_id = 0x627a6f72"} {
		if _, err := raw.ExecContext(t.Context(), pragma); err != nil {
			t.Fatal(err)
		}
	}
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	old := fstest.MapFS{}
	for _, name := range names[:migrated] {
		text, err := fs.ReadFile(migrations, name)
		if err != nil {
			t.Fatal(err)
		}
		old[filepath.Base(name)] = &fstest.MapFile{Data: text}
	}
	if err := migrateFrom(t.Context(), raw, path, old); err != nil {
		t.Fatal(err)
	}
	if _, err := raw.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// Letters of before variants were told apart are found, grow by copies of the
// fingerprint, and do not take in those of a variant.
func TestOldLettersHaveNoVariant(t *testing.T) {
	db := openOld(t, 8, `INSERT INTO letters (id, fleet, fingerprint, last, copies, kept, found, body) VALUES ('dl-old', 'shop',
		x'01000000000000000000000000000000', 5, 7,
		'{"id":"dl-old","fingerprint":"01000000000000000000000000000000","shape":"","fleet":"shop","first":"1970-01-01T00:00:00.000005Z","request":{"method":"GET","target":"/x","host":"","body_size":0}}',
		'{"verdict":"q-00000000000a","class":"crash","reason":"r","last":"1970-01-01T00:00:00.000005Z"}', x'')`)
	fp := bezoar.Fingerprint{0: 1}
	s := db.Ledger()
	for _, q := range []ledger.LetterQuery{{Fingerprint: fp}, {Key: fp}} {
		if ls, err := s.Letters(t.Context(), q); err != nil || len(ls) != 1 || ls[0].ID != "dl-old" || ls[0].Copies != 7 || !ls[0].Variant.IsZero() {
			t.Fatalf("%+v finds %+v, %v", q, ls, err)
		}
	}
	copied, err := s.PutLetter(t.Context(), bezoar.Letter{ID: "dl-copy", Fleet: "shop", Fingerprint: fp, Copies: 1})
	if err != nil || copied.ID != "dl-old" || copied.Copies != 8 {
		t.Errorf("a copy is %+v, %v", copied, err)
	}
	variant, err := s.PutLetter(t.Context(), bezoar.Letter{ID: "dl-variant", Fleet: "shop", Fingerprint: fp, Variant: bezoar.Fingerprint{0: 2}, Copies: 1})
	if err != nil || variant.ID != "dl-variant" || variant.Copies != 1 {
		t.Errorf("a variant is %+v, %v", variant, err)
	}
	if ls, err := s.Letters(t.Context(), ledger.LetterQuery{Fingerprint: fp}); err != nil || len(ls) != 2 {
		t.Errorf("of the fingerprint there are %+v, %v", ls, err)
	}
}

// Letters of before there was triage are grouped, counted and found.
func TestOldLettersAreTriaged(t *testing.T) {
	db := openOld(t, 2, `
		INSERT INTO queues (name, bucket, fifo, version, created, modified, dead_letter, doc) VALUES ('dead', 1, 0, 1, 5, 5, '', '{"settings":{"Retention":345600000000000}}');
		UPDATE queue_numbers SET last = 1 WHERE kind = 'bucket';
		UPDATE queue_numbers SET last = 4 WHERE kind = 'message';
		INSERT INTO queue_payloads (id, body, sender) VALUES (1, x'61', ''), (2, x'62', ''), (3, x'63', ''), (4, x'64', '');
		INSERT INTO queue_messages (bucket, seq, id, payload, rank, grp, locking, dedup, sent, since, visible, letter)
			VALUES (1, 1, 'a', 1, 9, '', 0, '', 10, 20, 20, 1), (1, 2, 'b', 2, 9, '', 0, '', 10, 30, 30, 1),
				(1, 3, 'c', 3, 9, '', 0, '', 10, 40, 40, 1), (1, 4, 'd', 4, 9, '', 0, '', 10, 40, 40, 0);
		INSERT INTO queue_letters (bucket, seq, doc) VALUES
			(1, 1, CAST('{"origin":"jobs","died":"1970-01-01T00:00:00.00002Z","receives":3,"class":"bug","failure":"f","reason":"x"}' AS BLOB)),
			(1, 2, CAST('{"origin":"jobs","died":"1970-01-01T00:00:00.00003Z","receives":3,"class":"bug","failure":"f"}' AS BLOB)),
			(1, 3, CAST('{"origin":"jobs","died":"1970-01-01T00:00:00.00004Z","receives":3,"class":"timeout","reason":"slow"}' AS BLOB));
		INSERT INTO queue_moves (number, id, source, destination, rate, state, started, to_move, bucket, last, next)
			VALUES (1, 'task', 'dead', '', 1, 'running', 50, 3, 1, 4, 50)`)
	s := db.Queue()
	groups, err := s.Groups(t.Context(), queue.Selection{Queue: "dead"}, 10)
	if err != nil || len(groups) != 2 || groups[0].Key != "timeout:slow" || groups[0].Count != 1 || groups[1].Key != "bug:f" || groups[1].Count != 2 ||
		groups[1].Sample != "b" || groups[1].First.UnixMicro() != 20 || groups[1].Last.UnixMicro() != 30 {
		t.Errorf("the groups are %+v, %v", groups, err)
	}
	letters, err := s.Letters(t.Context(), queue.Selection{Groups: []string{"bug:f"}, Origin: "jobs", Class: "bug"}, 0, 10)
	if err != nil || len(letters) != 2 || letters[0].ID != "b" || letters[0].Letter.Group != "bug:f" {
		t.Errorf("the letters are %+v, %v", letters, err)
	}
	q, err := s.Queue(t.Context(), "dead")
	if err != nil {
		t.Fatal(err)
	}
	if c, err := s.Counts(t.Context(), q.ID); err != nil || c.Visible != 4 {
		t.Errorf("it counts %+v, %v", c, err)
	}
	if step, err := s.StepMove(t.Context(), "task", 10); err != nil || step.Task.Selection.Last != 4 {
		t.Errorf("the task of before goes on as %+v, %v", step, err)
	}
}

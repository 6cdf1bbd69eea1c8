package cdc

import "testing"

func TestGapIsWhatASlotDoesNotHave(t *testing.T) {
	before := &progress{identity: identity{"1", 1}, position: 0x500}
	for _, c := range []struct {
		name string
		was  *progress
		at   identity
		slot *slot
		want string
	}{
		{"never read", nil, identity{"1", 1}, nil, ""},
		{"as it was", before, identity{"1", 1}, &slot{confirmed: 0x500}, ""},
		{"behind, as after a crash", before, identity{"1", 1}, &slot{confirmed: 0x400}, ""},
		{"kept by the promoted standby", before, identity{"1", 2}, &slot{confirmed: 0x400}, ""},
		{"made anew", before, identity{"1", 1}, &slot{confirmed: 0x600}, "the slot was made anew or moved: what was committed between 0/500 and 0/600 is not in it"},
		{"made anew on the promoted standby", before, identity{"1", 2}, &slot{confirmed: 0x600}, "the slot was made anew or moved after the promotion of a standby (timeline 2, it was 1): what was committed between 0/500 and 0/600 is not in it"},
		{"gone", before, identity{"1", 1}, nil, "the slot is gone: what was committed after 0/500 is not in it"},
		{"lost", before, identity{"1", 1}, &slot{status: "lost"}, "the server has removed WAL that the slot needs, as max_slot_wal_keep_size says: what was committed after 0/500 is not in it"},
		{"restored from a dump", before, identity{"2", 1}, &slot{confirmed: 0x100}, "the database is in another cluster now (2, it was 1)"},
	} {
		if got := gap(c.was, c.at, c.slot); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

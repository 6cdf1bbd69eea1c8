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
		{"made anew", before, identity{"1", 1}, &slot{confirmed: 0x600}, "the slot was recreated or moved: changes committed between 0/500 and 0/600 are missing"},
		{"made anew on the promoted standby", before, identity{"1", 2}, &slot{confirmed: 0x600}, "the slot was recreated or moved after the promotion of a standby (timeline 2; it was 1): changes committed between 0/500 and 0/600 are missing"},
		{"gone", before, identity{"1", 1}, nil, "the slot is gone: changes committed after 0/500 are missing"},
		{"lost", before, identity{"1", 1}, &slot{status: "lost"}, "the server removed WAL that the slot needs, because of max_slot_wal_keep_size: changes committed after 0/500 are missing"},
		{"restored from a dump", before, identity{"2", 1}, &slot{confirmed: 0x100}, "the database is now in another cluster (2; it was 1)"},
	} {
		if got := gap(c.was, c.at, c.slot); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

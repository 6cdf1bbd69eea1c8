package round

// check is one thing that has to work.
type check struct {
	name   string
	run    func(*round) error
	bezoar bool // only Bezoar has it
	signed bool // only where signatures are verified
}

func checks() []check {
	return []check{
		{name: "queues are made once", run: (*round).create},
		{name: "a missing queue is an error of its own", run: (*round).missing},
		{name: "attributes are set, read and checked", run: (*round).attributes},
		{name: "tags are kept", run: (*round).tags},
		{name: "lists have prefixes and pages", run: (*round).list},
		{name: "permissions are taken", run: (*round).permissions},
		{name: "messages keep body, attributes and digests", run: (*round).message},
		{name: "receives choose attributes", run: (*round).choose},
		{name: "a megabyte fits, more does not", run: (*round).size},
		{name: "batches are sent, and refused whole", run: (*round).batch},
		{name: "batches fail by entry", run: (*round).batchEntries},
		{name: "visibility is changed", run: (*round).visibility},
		{name: "visibility is changed in batches", run: (*round).visibilityBatch},
		{name: "messages are deleted", run: (*round).remove},
		{name: "messages are deleted in batches", run: (*round).removeBatch},
		{name: "a wrong handle is an error of its own", run: (*round).handle},
		{name: "an empty receive returns at once", run: (*round).empty},
		{name: "a long poll is woken by a send", run: (*round).longPoll},
		{name: "a delay holds back, and ends a long poll", run: (*round).delay},
		{name: "FIFO keeps order and locks groups", run: (*round).fifo},
		{name: "FIFO drops duplicates", run: (*round).dedup},
		{name: "FIFO wants a group", run: (*round).fifoErrors},
		{name: "dead letters go where the policy says", run: (*round).deadLetters},
		{name: "a move task brings them back", run: (*round).moveTask},
		{name: "a purge empties", run: (*round).purge},
		{name: "Bezoar's attributes pass through", run: (*round).bezoarAttributes, bezoar: true},
		{name: "an outcome is reported", run: (*round).outcome, bezoar: true},
		{name: "a wrong secret is refused", run: (*round).wrongSecret, signed: true},
		{name: "an unknown key is refused", run: (*round).unknownKey, signed: true},
		{name: "an unsigned request is refused", run: (*round).unsigned, signed: true},
		{name: "a presigned request is taken, a changed one refused", run: (*round).presigned, signed: true},
	}
}

package sqs

import (
	"strings"

	"github.com/bezoar-dev/bezoar/queue"
)

const maxEntries = 10

// batch checks the list of a batch's entries.
func (c *call) batch(kind string) error {
	entries := c.req.Entries
	switch {
	case len(entries) == 0:
		return batchEmpty.text("There should be at least one %s in the request.", kind)
	case len(entries) > maxEntries:
		return batchTooMany.text("Maximum number of entries per request are %d. You have sent %d.", maxEntries, len(entries))
	}
	for i := range entries {
		id := entries[i].ID
		if !validID(id) {
			return batchID.text("A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.")
		}
		for j := range i {
			if entries[j].ID == id {
				return batchSameID.text("Id %s repeated.", id)
			}
		}
	}
	return nil
}

func validID(id string) bool {
	return id != "" && len(id) <= 80 &&
		strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// outcomes encodes the results of a batch: first the entries without a fault, by success, then the others. An empty list is
// omitted.
func (c *call) outcomes(tag string, faults []*fault, success func(i int)) {
	e, open := &c.out, false
	for i := range faults {
		if faults[i] != nil {
			continue
		}
		if !open {
			e.list("Successful")
			open = true
		}
		e.item(tag)
		e.plain("Id", c.req.Entries[i].ID)
		if success != nil {
			success(i)
		}
		e.endItem(tag)
	}
	if open {
		e.endList()
		open = false
	}
	const failed = "BatchResultErrorEntry"
	for i, f := range faults {
		if f == nil {
			continue
		}
		if !open {
			e.list("Failed")
			open = true
		}
		e.item(failed)
		e.plain("Code", f.legacy)
		e.plain("Id", c.req.Entries[i].ID)
		e.text("Message", f.message)
		e.truth("SenderFault", f.sender())
		e.endItem(failed)
	}
	if open {
		e.endList()
	}
}

// receipts parses the receipts of all entries. at holds the entry of each receipt. It sets the faults of the other entries.
func (c *call) receipts(faults []*fault) (receipts []queue.Receipt, at []int) {
	receipts, at = make([]queue.Receipt, 0, len(faults)), make([]int, 0, len(faults))
	for i := range c.req.Entries {
		r, f := receipt(c.req.Entries[i].Receipt)
		if f != nil {
			faults[i] = f
			continue
		}
		receipts, at = append(receipts, r), append(at, i)
	}
	return receipts, at
}

func receipt(handle string) (queue.Receipt, *fault) {
	if handle == "" {
		return queue.Receipt{}, absent("ReceiptHandle")
	}
	r, err := queue.ParseReceipt(handle)
	if err != nil {
		return r, receiptInvalid.text("The input receipt handle %.100q is not a valid receipt handle.", handle)
	}
	return r, nil
}

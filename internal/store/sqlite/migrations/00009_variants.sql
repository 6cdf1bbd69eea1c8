-- +goose Up

-- A letter is of one variant, where that is known: fingerprint is what tells letters
-- apart, the variant's if there is one. work is the fingerprint of the work, and
-- null in letters of before, where both are the same.

ALTER TABLE letters ADD COLUMN work BLOB;
CREATE INDEX letters_by_work ON letters (coalesce(work, fingerprint));

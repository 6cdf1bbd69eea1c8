-- A letter is of one variant, where that is known: fingerprint is what tells letters
-- apart, the variant's if there is one. work is the fingerprint of the work, and
-- null in letters of before and of nodes that do not know variants yet, where both
-- are the same.

ALTER TABLE {schema}.letters ADD COLUMN work bytea;
CREATE INDEX letters_by_work ON {schema}.letters (coalesce(work, fingerprint));

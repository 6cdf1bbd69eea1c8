SELECT id, title FROM articles WHERE author_id = 7 AND id > 4000 ORDER BY id LIMIT 50

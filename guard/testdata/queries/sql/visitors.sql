SELECT user_id, COUNT(*) FROM events GROUP BY user_id

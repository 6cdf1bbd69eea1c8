SELECT id FROM users WHERE email LIKE '%@example.com'

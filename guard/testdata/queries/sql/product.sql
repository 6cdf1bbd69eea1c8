SELECT a.id, b.id FROM orders a, invoices b WHERE a.total > 10 AND b.total > 10 LIMIT 10

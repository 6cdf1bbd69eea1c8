-- An outbox of Bezoar, version 1, for MySQL 8.0, MariaDB 10.6 and later.
--
-- You can run it again: it keeps existing tables and replaces the procedure. Run it with
-- the client mysql or mariadb as the user that the relay uses, and in the
-- application's database. A producer's user needs one right:
--
--     GRANT EXECUTE ON PROCEDURE {schema}_write TO app;
--
-- and writes an event in the transaction that changes its own tables:
--
--     CALL {schema}_write('orders.paid', '4711', NULL, NULL, '{"total": 12}', NULL);

CREATE TABLE IF NOT EXISTS {schema}_meta (
	one TINYINT PRIMARY KEY,
	id CHAR(36) NOT NULL,
	version INT NOT NULL,
	made BIGINT NOT NULL -- milliseconds since 1970, as all times here
) ENGINE = InnoDB;
INSERT IGNORE INTO {schema}_meta VALUES (1, UUID(), 1, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED));

-- The written events. Rows never change, except when an operator edits a parked event.
CREATE TABLE IF NOT EXISTS {schema}_events (
	position BIGINT AUTO_INCREMENT PRIMARY KEY,
	written_at BIGINT NOT NULL,
	id VARBINARY(64) NOT NULL,
	topic VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	k VARBINARY(512) NOT NULL,
	seq BIGINT NOT NULL,
	type VARBINARY(255) NOT NULL,
	headers MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL,
	payload LONGBLOB NOT NULL,
	KEY by_id (id)
) ENGINE = InnoDB;

-- One row per topic and key. Locking it orders the events of a key. The row also counts them.
CREATE TABLE IF NOT EXISTS {schema}_keys (
	topic VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	k VARBINARY(512) NOT NULL,
	seq BIGINT NOT NULL,
	PRIMARY KEY (topic, k)
) ENGINE = InnoDB;

-- One row per undelivered event, deleted on delivery.
-- state: 0 ready, 1 retrying, 2 parked, 3 behind an earlier event of its lane.
CREATE TABLE IF NOT EXISTS {schema}_pending (
	position BIGINT PRIMARY KEY,
	written_at BIGINT NOT NULL,
	lane BIGINT, -- a hash of topic and key; null: no key
	not_before BIGINT,
	bytes INT NOT NULL,
	state TINYINT NOT NULL DEFAULT 0,
	attempts SMALLINT NOT NULL DEFAULT 0,
	blamed SMALLINT NOT NULL DEFAULT 0,
	topic VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	parked_at BIGINT,
	evidence MEDIUMTEXT CHARACTER SET utf8mb4,
	KEY by_topic (state, topic, position),
	KEY by_lane (lane, state, position),
	KEY by_time (state, not_before)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS {schema}_lease (
	one TINYINT PRIMARY KEY,
	owner VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
	epoch BIGINT NOT NULL,
	until BIGINT NOT NULL
) ENGINE = InnoDB;
INSERT IGNORE INTO {schema}_lease VALUES (1, '', 0, 0);

-- Batches in delivery.
CREATE TABLE IF NOT EXISTS {schema}_flights (
	id BIGINT AUTO_INCREMENT PRIMARY KEY,
	epoch BIGINT NOT NULL,
	topic VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	since BIGINT NOT NULL,
	positions MEDIUMTEXT CHARACTER SET ascii NOT NULL -- [1,2,3]
) ENGINE = InnoDB;

DROP PROCEDURE IF EXISTS {schema}_write;

DELIMITER ;;
CREATE PROCEDURE {schema}_write(topic_ VARCHAR(1024), key_ VARBINARY(1024), type_ VARBINARY(1024), headers_ MEDIUMTEXT CHARACTER SET utf8mb4,
	payload_ LONGBLOB, id_ VARBINARY(1024))
	MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
	DECLARE seq_ BIGINT DEFAULT 0;
	DECLARE lane_ BIGINT DEFAULT NULL;
	DECLARE i_, size_ INT DEFAULT 0;
	DECLARE header_, value_ MEDIUMTEXT CHARACTER SET utf8mb4;
	-- The column's collation: with another one no index is used, and all rows are locked.
	DECLARE name_ VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin;
	SET key_ = COALESCE(key_, ''), headers_ = COALESCE(headers_, '{}'), payload_ = COALESCE(payload_, ''),
		type_ = COALESCE(NULLIF(type_, ''), topic_), id_ = COALESCE(NULLIF(id_, ''), CAST(UUID() AS CHAR(36)));
	IF topic_ IS NULL OR topic_ NOT REGEXP '^[A-Za-z0-9._-]{1,255}$' THEN
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'outbox: the topic must have 1 to 255 letters, digits, dots, dashes and underscores';
	ELSEIF LENGTH(key_) > 512 OR LENGTH(type_) > 255 OR LENGTH(id_) > 64 THEN
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'outbox: the key may have at most 512 bytes, the type 255, the id 64';
	ELSEIF LENGTH(payload_) > 16777216 OR LENGTH(headers_) > 131072 THEN
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'outbox: the payload may have at most 16 MiB, the headers 16 KiB';
	ELSEIF NOT JSON_VALID(headers_) OR JSON_TYPE(headers_) <> 'OBJECT' THEN
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'outbox: headers must be a JSON object of strings';
	END IF;
	WHILE i_ < JSON_LENGTH(headers_) DO
		IF JSON_TYPE(JSON_EXTRACT(JSON_EXTRACT(headers_, '$.*'), CONCAT('$[', i_, ']'))) <> 'STRING' THEN
			SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'outbox: headers must be a JSON object of strings';
		END IF;
		SET header_ = JSON_UNQUOTE(JSON_EXTRACT(JSON_KEYS(headers_), CONCAT('$[', i_, ']'))),
			value_ = JSON_UNQUOTE(JSON_EXTRACT(JSON_EXTRACT(headers_, '$.*'), CONCAT('$[', i_, ']')));
		SET i_ = i_ + 1, size_ = size_ + COALESCE(LENGTH(header_), 0) + LENGTH(value_);
		IF i_ > 64 OR size_ > 16384 OR header_ = '' OR LOCATE(CHAR(0), CONCAT(header_, value_)) > 0 THEN
			SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'outbox: at most 64 headers with names, without zero bytes, and with 16 KiB in total';
		END IF;
	END WHILE;
	SET name_ = topic_;
	-- The key is locked before the position is assigned, so positions of a key have the
	-- order of commits.
	IF key_ <> '' THEN
		INSERT INTO {schema}_keys VALUES (name_, key_, 1) ON DUPLICATE KEY UPDATE seq = seq + 1;
		SELECT seq INTO seq_ FROM {schema}_keys WHERE topic = name_ AND k = key_ FOR UPDATE;
		SET lane_ = CAST(CONV(LEFT(SHA1(CONCAT(name_, ' ', key_)), 15), 16, 10) AS SIGNED);
	END IF;
	INSERT INTO {schema}_events (written_at, id, topic, k, seq, type, headers, payload)
		VALUES (CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED), id_, name_, key_, seq_, type_, headers_, payload_);
	INSERT INTO {schema}_pending (position, written_at, lane, bytes, topic)
		SELECT position, written_at, lane_, LENGTH(payload) + LENGTH(k) + LENGTH(headers), topic FROM {schema}_events WHERE position = LAST_INSERT_ID();
END;;
DELIMITER ;

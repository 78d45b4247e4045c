-- said: reads the marks of the indexes, see `marks`.
-- KEYS[1] index_records
-- ARGV: none
-- Returns: the text; '-' for nothing, '' where there is no item
-- Bound: O(1)
-- Round trips: 1
-- include: look
return look('HGET', KEYS[1], '') or redis.call('EXISTS', KEYS[1]) == 1 and '-' or ''

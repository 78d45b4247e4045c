-- merge: moves elements of a queue's key to the key with the new name, each with its job and with what is known of its
--   runs.
-- KEYS[1] key
-- KEYS[2] new: the key with the new name
-- KEYS[3] runs
-- KEYS[4] new_runs: the runs under the new name
-- KEYS[5…] set: sorted sets that must have no score in the future
-- ARGV[1] before: the key of a job before its id
-- ARGV[2] after: and after it
-- ARGV[3] new_before: the same under the new name
-- ARGV[4] new_after
-- ARGV[5] first: how many elements at the front are to stay
-- ARGV[6] count: how many elements are looked at
-- Returns: {'done', elements moved, jobs moved, elements that stay}, or {why not, 0, 0, 0}: 'gone', 'works', 'type'
-- Bound: O(first × count) for a list: LREM passes by the elements that stay
-- Round trips: 1
-- include: time
local call = redis.call
local kind, there = call('TYPE', KEYS[1]).ok, call('TYPE', KEYS[2]).ok
if kind == 'none' then return { 'gone', 0, 0, 0 } end
for i = 3, 4 do
  local runs = call('TYPE', KEYS[i]).ok
  if runs ~= 'hash' and runs ~= 'none' then return { 'type', 0, 0, 0 } end
end
if there ~= 'none' and there ~= kind then return { 'type', 0, 0, 0 } end
local now = string.format('(%.0f', (clock()))
for i = 5, #KEYS do
  if call('TYPE', KEYS[i]).ok == 'zset' and call('ZCOUNT', KEYS[i], now, '+inf') > 0 then
    return { 'works', 0, 0, 0 }
  end
end
local first, count = tonumber(first), tonumber(count)
local ids, scores, ttl = {}, {}, call('PTTL', KEYS[1])
if kind == 'list' then
  ids = call('LRANGE', KEYS[1], first, first + count - 1)
elseif kind == 'zset' then
  local all = call('ZRANGE', KEYS[1], first, first + count - 1, 'WITHSCORES')
  for i = 1, #all, 2 do ids[#ids + 1], scores[#ids + 1] = all[i], all[i + 1] end
else
  return { 'type', 0, 0, 0 }
end
local moves, jobs, stay = {}, 0, 0
for n, id in ipairs(ids) do
  local old, new = before .. id .. after, new_before .. id .. new_after
  local job = call('EXISTS', old) == 1
  if job and call('EXISTS', new) == 1 or kind == 'zset' and call('ZSCORE', KEYS[2], id) then
    stay = stay + 1 -- another job has this id there
  else
    local run = call('HGET', KEYS[3], id)
    run = run and call('HEXISTS', KEYS[4], id) == 0 and run
    moves[#moves + 1] = { id = id, score = scores[n], old = job and old, new = new, run = run }
  end
end
-- A write of nothing comes first: where memory is full a server refuses RPUSH, unless the script has written already.
call('HDEL', KEYS[3], '')
for _, m in ipairs(moves) do
  if m.old and call('EXISTS', m.old) == 1 then -- an id may be in a list twice
    call('RENAME', m.old, m.new)
    jobs = jobs + 1
  end
  if m.run then
    call('HSET', KEYS[4], m.id, m.run)
    call('HDEL', KEYS[3], m.id)
  end
  if kind == 'list' then
    call('LREM', KEYS[1], 1, m.id)
    call('RPUSH', KEYS[2], m.id)
  else
    call('ZREM', KEYS[1], m.id)
    call('ZADD', KEYS[2], m.score, m.id)
  end
end
-- A key that was there keeps its TTL, or that it has none.
if ttl > 0 and there == 'none' and #moves > 0 then call('PEXPIRE', KEYS[2], string.format('%.0f', ttl)) end
return { 'done', #moves, jobs, stay }

-- retag: gives members of a sorted set their new names, with their scores. A new name that is there keeps a score that
--   is higher.
-- KEYS[1] set
-- KEYS[2…] keeper: what keeps members
-- ARGV[1…] member, name, goes, keepers: its new name, '1' if the member goes and '' if both stay, how many of the next
--   keys keep it: it stays where one of them is there
-- Returns: how many members are not as they were
-- Bound: O(log N) per member, 100 members
-- Round trips: 1
local call = redis.call
local moves, changed, at = {}, 0, 1
for i = 1, #ARGV, 4 do
  local score, goes = call('ZSCORE', KEYS[1], ARGV[i]), ARGV[i + 2] == '1'
  for _ = 1, tonumber(ARGV[i + 3]) do
    at = at + 1
    if goes and call('EXISTS', KEYS[at]) == 1 then goes = false end
  end
  if score then moves[#moves + 1] = { old = ARGV[i], new = ARGV[i + 1], goes = goes, score = score } end
end
for _, m in ipairs(moves) do
  local n = call('ZADD', KEYS[1], 'GT', 'CH', m.score, m.new)
  if m.goes then n = n + call('ZREM', KEYS[1], m.old) end
  if n > 0 then changed = changed + 1 end
end
return changed

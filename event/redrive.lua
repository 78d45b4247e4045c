-- redrive: publishes dead letters again, as new messages, and removes them. One without contents stays.
-- KEYS[1] stream
-- KEYS[2] dead: dead letters
-- ARGV[1] age: ms for which an entry is kept, or 0
-- ARGV[2…] id: of a dead letter
-- Returns: how many were published; or {the form of one that is newer than this program}, and nothing has changed
-- Bound: O(ids), 25 ids with 1,000 fields and values each
-- Round trips: 1
for i, key in ipairs(KEYS) do
  local there = redis.pcall('XLEN', key)
  if type(there) == 'table' then
    local wrong = string.find(there.err, 'WRONGTYPE', 1, true)
    return wrong and redis.error_reply('WRONGTYPE the key ' .. key .. ' holds no stream') or there
  end
end
local letters = {}
for i = 2, #ARGV do
  local letter = redis.call('XRANGE', KEYS[2], ARGV[i], ARGV[i])[1]
  letter = letter and letter[2] or {}
  if letter[1] == 'form' and letter[2] ~= '1' then
    return {letter[2]}
  end
  if letter[1] == 'form' and #letter > 10 and #letter <= 1010 and letter[11] ~= 'packed' then
    letters[ARGV[i]] = letter
  end
end
local n = 0
for i = 2, #ARGV do
  local letter = letters[ARGV[i]]
  if letter then
    redis.call('XADD', KEYS[1], '*', unpack(letter, 11))
    redis.call('XDEL', KEYS[2], ARGV[i])
    letters[ARGV[i]] = nil
    n = n + 1
  end
end
if n > 0 and ARGV[1] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return n

-- send: sends one event to a channel, or to the key of that number; its mode is argument `at`, longest stream, age of its
-- oldest entry and envelope ('e' and what more is in it, or 'p') from `at` + 2.
-- Its scripts have `now` and `ms`, and say by `keys` before which key the numbers begin.
-- Part.
-- include: keys

-- sendable refuses an event that the server would not take, before anything is written.
local function sendable(at, target, keys)
  local mode, may = ARGV[at], redis.acl_check_cmd -- a server before 7.0 cannot be asked
  if mode == 'x' then
    needs(KEYS[keys + target], 'stream')
    may = not may or may('XADD', KEYS[keys + target], '*', 'data', '')
  else
    may = not may or may(mode == 's' and 'SPUBLISH' or 'PUBLISH', target, '')
  end
  if not may then error({err = 'NOPERM the user of this connection may not send the event of a change'}, 0) end
end

local function send(at, target, body, keys)
  local mode, length, age = ARGV[at], ARGV[at + 2], ARGV[at + 3]
  local enveloped = string.sub(ARGV[at + 4], 1, 1) == 'e'
  if mode ~= 'x' then
    if enveloped then body = '{"timestamp":' .. now .. ',"data":' .. body .. string.sub(ARGV[at + 4], 2) .. '}' end
    redis.call(mode == 's' and 'SPUBLISH' or 'PUBLISH', target, body)
    return
  end
  local add = {'XADD', KEYS[keys + target]}
  local oldest = age ~= '' and string.format('%.0f', ms - age)
  if length ~= '' then
    add[3], add[4], add[5] = 'MAXLEN', '~', length
  elseif oldest then
    add[3], add[4], add[5] = 'MINID', '~', oldest
  end
  add[#add + 1] = '*'
  if enveloped then add[#add + 1], add[#add + 2] = 'timestamp', now end
  add[#add + 1] = 'data'
  add[#add + 1] = body
  redis.call(unpack(add))
  if length ~= '' and oldest then redis.call('XTRIM', add[2], 'MINID', '~', oldest) end
  if age ~= '' then redis.call('PEXPIRE', add[2], age) end
end

-- sliding: lets n through if no window of the length gets more than the limit by it.
-- KEYS[1] limit: s1, the number of its newest bucket (8 bytes), the sum of all (4), then 61 counts of 4 bytes, the
--   newest first. 60 buckets are a window; one more is in it in part
-- ARGV[1] n: 0 to look only
-- ARGV[2] limit
-- ARGV[3] width: of a bucket in µs
-- Returns: {1 allowed or 0, remaining, µs until n would pass, µs until all is free again}
-- Bound: O(61 buckets)
-- Round trips: 1
-- include: time
local buckets, key = 61, KEYS[1]
local _, now = clock()
local n, limit, width = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local want, newest = n > 0 and n or 1, math.floor(now / width)
local head, size = redis.call('GETRANGE', key, 0, 17), redis.call('STRLEN', key)
local base, total, first = newest, 0, 0
if size > 0 then
  if size ~= 14 + 4 * buckets or string.sub(head, 1, 2) ~= 's1' then
    return redis.error_reply('FORM of another rule or a newer program (key ' .. key .. ')')
  end
  base, total, first = struct.unpack('>I8I4I4', head, 3)
end
-- a clock that went back, also by a failover to another machine: what has passed counts
-- as of now, for one more window
local behind = base > newest
if behind then base = newest end
-- the commonest case: the newest bucket goes on, and its end is in the key's TTL already
if size > 0 and base == newest and not behind and total + want <= limit then
  if n > 0 then
    total = total + n
    redis.call('SETRANGE', key, 10, struct.pack('>I4I4', total, first + n))
  end
  return {1, limit - total, 0, (newest + buckets) * width - now}
end

local counts, format = {}, '>I8I4' .. string.rep('I4', buckets)
local old, shift = size > 0 and {struct.unpack(format, redis.call('GET', key), 3)} or {}, newest - base
total = 0
for back = 0, buckets - 1 do -- a bucket that is partly in the window counts whole
  local count = back >= shift and old[3 + back - shift] or 0
  counts[back + 1] = count
  total = total + count
end
local fits = total + want <= limit
if n > 0 and (fits or behind) then
  if fits then
    counts[1] = counts[1] + n
    total = total + n
  end
  local ttl = math.ceil(((newest + buckets) * width - now) / 1000) + 1
  ttl = math.min(ttl, math.ceil(buckets * width / 1000) + 1)
  redis.call('SET', key, 's1' .. struct.pack(format, newest, total, unpack(counts)), 'PX', ttl)
end
-- a bucket leaves with the 61st after it
local free, retry, reset = limit - total, 0, 0
for back = buckets - 1, 0, -1 do
  if counts[back + 1] > 0 then
    reset = (newest - back + buckets) * width - now
    free = free + counts[back + 1]
    if not fits and retry == 0 and free >= want then retry = reset end
  end
end
return {fits and 1 or 0, math.max(limit - total, 0), retry, reset}

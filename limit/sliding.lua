-- sliding: let n through if no window of the length gets more than the limit by it
-- KEYS: 1 the limit: the number of its newest bucket (8 bytes), then 61 counts of 4 bytes, the newest first
-- ARGV: 1 n, 0 to look only  2 limit  3 window in us  4 bucket in us
-- Returns: allowed (1 or 0), remaining, us until n would pass, us until all is free again
-- Round trips: 1
local buckets = 61
local format = '>I8' .. string.rep('I4', buckets)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local n, limit, window, width = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local stored = redis.call('GET', KEYS[1])
local old, newest = stored and {struct.unpack(format, stored)} or {0}, math.floor(now / width)
-- a clock that went back, by a failover to another machine, stands still until it has caught up
newest = math.max(newest, old[1])
local shift = newest - old[1]
-- a bucket that lies partly in the window counts whole
local kept = math.min(newest - math.floor((now - window) / width), buckets - 1)
local counts, total = {}, 0
for back = 0, buckets - 1 do
  local count = back <= kept and back >= shift and old[2 + back - shift] or 0
  counts[back + 1] = count
  total = total + count
end
local fits = total + math.max(n, 1) <= limit
if fits and n > 0 then
  counts[1] = counts[1] + n
  total = total + n
  local ttl = math.ceil(((newest + 1) * width + window - now) / 1000) + 1
  redis.call('SET', KEYS[1], struct.pack(format, newest, unpack(counts)), 'PX', math.min(ttl, math.ceil((window + width) / 1000) + 1))
end
-- a bucket leaves when its end is a window ago
local free, retry, reset = limit - total, 0, 0
for back = kept, 0, -1 do
  if counts[back + 1] > 0 then
    reset = (newest - back + 1) * width + window - now
    if not fits and retry == 0 then
      free = free + counts[back + 1]
      retry = free >= math.max(n, 1) and reset or 0
    end
  end
end
return {fits and 1 or 0, math.max(limit - total, 0), retry, reset}

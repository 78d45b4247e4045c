-- change_issue: move an issue to a status in one step
-- KEYS: 1 issue_status  2 issue_metadata  3 issues_processing  4 issues_completed_today  5 stats_issues_daily  6 lock_issue.fence  7 stats_performance_hourly  8 task_ended  9 task_issue
-- ARGV: 1 issue  2 status  3 by  4 fence  5 epoch_day  6 hour_of  7 oldest  8 ms  9 channel  10 db
-- Returns: ok, or why nothing was changed: stale (a newer fence is known), busy (a run has the issue),
--   same (it has the status), over (the end of the task is in the figures), or the seconds since 1970 by
--   the clock of the server, if epoch_day is another day
-- Round trips: 1
local number, status, task, fence, hour = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[6]
local ended = status == 'completed' or status == 'failed' or status == 'dead'

-- What can fail comes first: a key of another type, a figure that is no number, a channel that is not allowed.
local now = redis.call('TIME')
local seconds = tonumber(now[1])
local today = math.floor(seconds / 86400)
local before = redis.call('GET', KEYS[1])
local known = redis.call('HMGET', KEYS[2], 'task', 'status')
local busy = redis.call('SISMEMBER', KEYS[3], number)
redis.call('SCARD', KEYS[4])
local count = redis.call('HGET', KEYS[5], status) or '0'
local newest = redis.call('GET', KEYS[6]) or '0'
local hours = redis.call('HKEYS', KEYS[7])
local over = redis.call('GET', KEYS[8])
redis.call('STRLEN', KEYS[9])
if today ~= tonumber(ARGV[5]) then return now[1] end
if not count:match('^%d%d?%d?%d?%d?%d?%d?%d?%d?$') then
  return redis.error_reply('ERR a figure of the day is no number')
end
if #fence < #newest or #fence == #newest and fence < newest then
  if fence ~= '0' then return 'stale' end
end
if fence == '0' and busy == 1 then return 'busy' end
if before == status and known[1] == task then return 'same' end
if over and over ~= 'dead' then return 'over' end -- a dead letter may be tried again
local count_it = ended and not (over and status == 'dead')
local figures = { runs = 0, failed = 0, ms = 0 }
if count_it then
  local ok, kept = pcall(cjson.decode, redis.call('HGET', KEYS[7], hour) or '{}')
  if ok and type(kept) == 'table' then
    for name in pairs(figures) do figures[name] = tonumber(kept[name]) or 0 end
  end
  figures.runs, figures.ms = figures.runs + 1, figures.ms + tonumber(ARGV[8])
  if status ~= 'completed' then figures.failed = figures.failed + 1 end
  figures = cjson.encode(figures)
end
local ms = string.format('%d', seconds * 1000 + math.floor(tonumber(now[2]) / 1000))
redis.call('PUBLISH', ARGV[9], '{"timestamp":' .. ms .. ',"data":{"number":' .. number
  .. ',"status":"' .. status .. '"},"db":' .. ARGV[10] .. '}')

redis.call('SET', KEYS[1], status)
redis.call('HSET', KEYS[2], 'task', task, 'status', status, 'changed', now[1])
if status == 'processing' then redis.call('SADD', KEYS[3], number) else redis.call('SREM', KEYS[3], number) end
if count_it then
  redis.call('HSET', KEYS[5], status, string.format('%d', tonumber(count) + 1))
  redis.call('PEXPIRE', KEYS[5], 604800000)
  redis.call('HSET', KEYS[7], hour, figures)
  redis.call('PEXPIRE', KEYS[7], 604800000)
  for _, name in ipairs(hours) do
    if name < ARGV[7] then redis.call('HDEL', KEYS[7], name) end
  end
end
if ended then
  redis.call('SET', KEYS[8], status, 'PX', 604800000)
  redis.call('DEL', KEYS[9])
else
  redis.call('SET', KEYS[9], number, 'EX', 2592000)
end
if status == 'completed' then
  redis.call('SADD', KEYS[4], number)
  redis.call('EXPIREAT', KEYS[4], (today + 1) * 86400)
end
return 'ok'

local call = redis.call
local t = call('TIME')
local ms, us = t[1] * 1000 + math.floor(t[2] / 1000), string.format('%.0f', t[1] * 1000000 + t[2])
local ats, out, renewed, a, k = {}, {}, {}, 1, 0
local function renew(key) if not renewed[key] then renewed[key] = true call('PEXPIRE', key, '86400000') end end
for i = 1, tonumber(ARGV[1]) do
  local id, expect, record, ttl = ARGV[a+1], ARGV[a+2], ARGV[a+3], ARGV[a+4]
  local hash, expiry, ledger, k1, k2, k3 = KEYS[k+1], KEYS[k+2], KEYS[k+3], KEYS[k+4], KEYS[k+5], KEYS[k+6]
  if expect ~= '' and call('HGET', ledger, id) ~= expect or expect == '' and call('HSETNX', ledger, id, record) == 0 then out[i] = 0
  elseif call('HGET', hash, 'version') then out[i] = -1
  else
    local at = ats[ttl] if not at then at = string.format('%.0f', ms + ttl) ats[ttl] = at end
    call('HSET', hash, 'id', id, 'type', ARGV[a+5], 'content', ARGV[a+6], 'contextId', ARGV[a+7], 'priority', ARGV[a+8], 'createdAt', ARGV[a+9], 'version', us)
    call('PEXPIREAT', hash, at)
    call('ZADD', expiry, at, id)
    call('SADD', k1, id)
    call('SADD', k2, id)
    call('ZADD', k3, ARGV[a+9], id)
    if expect ~= '' then call('HSET', ledger, id, record) end
    renew(expiry) renew(ledger) renew(k1) renew(k2) renew(k3)
    out[i] = us
  end
  a, k = a + 9, k + 6
end
return out

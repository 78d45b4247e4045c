-- lease: what a script needs to take a lease, or to check one. A lease is the text `fence owner`, and always ends: fence
-- is the server's time in µs when it was taken.
-- Part.
-- include: time

-- lease_left returns the ms that a lease has left. It ends the script with an error for one that never ends: the key is
-- another program's.
local function lease_left(key)
  local left = redis.call('PTTL', key)
  if left < 0 then error({err = 'FORM a lease never ends, so that it is none of this program (key ' .. key .. ')'}) end
  return left
end

-- lease_at returns fence, owner and ms left of a lease, nothing where it is free.
local function lease_at(key)
  local text = redis.call('GET', key)
  if not text then return nil end
  local left = lease_left(key)
  local fence, owner = string.match(text, '^(%d+) (.*)$')
  return fence or '', owner or '', left
end

-- lease_take takes a lease that is free, or makes the owner's last as long again. It returns its token; nil, the
-- owner and ms left where another has it.
local function lease_take(key, owner, ms)
  local fence, holder, left = lease_at(key)
  if fence and holder ~= owner then return nil, holder, math.max(left, 1) end
  if fence then
    redis.call('PEXPIRE', key, ms)
    return fence .. ' ' .. owner
  end
  -- A server at maxmemory refuses SET, unless the script has begun to write with what needs no memory.
  redis.call('UNLINK', key)
  local _, micros = clock()
  local token = string.format('%.0f', micros) .. ' ' .. owner
  redis.call('SET', key, token, 'PX', ms)
  return token
end

-- lease_held checks that a token is of the lease still.
local function lease_held(key, token) return redis.call('GET', key) == token end

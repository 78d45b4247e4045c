-- known: what scripts that read jobs have in common.
-- Part.
-- include: look
local faults = {}
local function mind(reply, key)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if not reply.err:find('WRONGTYPE', 1, true) then look(reply, key) end
  faults[#faults + 1] = 'WRONGTYPE ' .. word(key)
end
-- In a cluster a slot may be moving: then what is missing here is not gone. Two keys that are never there show it.
local function steady(before, after)
  look(redis.pcall('EXISTS', before .. ':1' .. after, before .. ':2' .. after), before .. after)
end
-- A job begins with the line "q1 enqueued lane attempts request unique", where 1 is the form it is written in. A request
-- may end with "~" and the ms that the job may run in one go. A newer
-- form is for a newer program.
local function newer(text)
  local form = text:sub(1, 3) ~= 'q1 ' and text:match('^q(%d+) ')
  return form and form ~= '1'
end
-- What is known of a job that has begun: "owner fence attempt crashes cancelled doubt r1", a line with its last error,
-- and how far it is. The doubt is
-- how many leases have ended of which it is not known whether the handler had begun: 0, 1, 2 for more, and 3 if it has,
-- in this lease. nil: a newer form.
local function known(run)
  local owner, fence, attempt, crashes, cancelled, doubt, reason, progress = run:match('^(%S+) (%d+) (%d+) (%d+) (%d) (%d) r1\n([^\n]*)\n(.*)$')
  if owner then
    return { owner = owner, fence = tonumber(fence), attempt = tonumber(attempt), crashes = tonumber(crashes), cancelled = cancelled == '1', doubt = tonumber(doubt), reason = reason, progress = progress }
  end
  local form = run:match('^[^\n]* r(%d+)\n')
  if form and form ~= '1' then return nil end
  return { owner = '-', fence = 0, attempt = 0, crashes = 0, cancelled = false, doubt = 0, reason = '', progress = '' } -- nothing of ours
end
local function noted(r, owner)
  return string.format('%s %.0f %.0f %.0f %d %d r1\n', owner, r.fence, r.attempt, r.crashes, r.cancelled and 1 or 0, r.doubt) .. r.reason .. '\n' .. r.progress
end
-- Ends a script that has met something of a newer program.
local function refuse(key) error({ err = 'NEWER the key ' .. word(key) .. ': a newer program has written it' }) end
-- A unique name as it is in the line of a job, "-" for none.
local function unescaped(name)
  if not name or name == '-' then return nil end
  return (name:gsub('%%(%x%x)', function(hex) return string.char(tonumber(hex, 16)) end))
end

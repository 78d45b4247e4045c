-- look: what all scripts that write have in common.
-- A script reads all it needs before it writes. look is the reply of a command that reads, or the end of the script,
-- with an error that names the key: nothing was changed then. A key that is elsewhere while its slot moves is one to try
-- again for.
-- Part.
local function word(text)
  return (text:gsub('[%c%s%%]', function(c) return string.format('%%%02x', c:byte()) end))
end
local function look(reply, key)
  if type(reply) ~= 'table' or not reply.err then return reply end
  local code, rest = reply.err:match('^%-?(%u+) (.*)$')
  if not code or rest:find('non local key', 1, true) or rest:find('cluster is down', 1, true) then code = code and 'TRYAGAIN' or 'ERR' end
  error({ err = code .. ' the key ' .. word(key) .. ': ' .. (rest or reply.err) })
end
-- may refuses what the user of this connection may not announce on the channel.
local function may(channel)
  local asked = redis.acl_check_cmd -- a server before 7.0 cannot be asked
  if asked and not asked('PUBLISH', channel, '') then
    error({ err = 'NOPERM the user of this connection may not publish on the channel ' .. word(channel) })
  end
end

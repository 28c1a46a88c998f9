-- uses: special, unadmit, gate_of
-- Jobs ended, ids[first .. last], or died: others may have their keys. A dead one remembers its
-- key, to take it again, and its limits.
local function let_go(ids, first, last, died)
  if not special then return end
  if special.ex then redis.call('HDEL', base .. ':ex', unpack(ids, first, last)) end
  local keys = special.uk and redis.call('HMGET', base .. ':uk', unpack(ids, first, last)) or {}
  for k, said in ipairs(keys) do
    local id = ids[first + k - 1]
    if said and redis.call('HGET', base .. ':u', string.sub(said, 2)) == id then
      redis.call('HDEL', base .. ':u', string.sub(said, 2))
    end
    if said and not died then redis.call('HDEL', base .. ':uk', id) end
  end
  local limits = special.lm and redis.call('HMGET', base .. ':lm', unpack(ids, first, last)) or {}
  local named = {}
  for k, said in ipairs(limits) do
    local state, gate = gate_of(said)
    if state and string.find(state, '^[1-9]') then unadmit(gate) end
    if said then named[#named + 1] = ids[first + k - 1] end
  end
  if #named > 0 and not died then redis.call('HDEL', base .. ':lm', unpack(named)) end
end

-- Before the first write: a key of the wrong type stops the script
local function check_hashes(...)
  for _, k in ipairs({...}) do redis.call('HLEN', base .. ':' .. k) end
end

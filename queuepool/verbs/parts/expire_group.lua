local kept = total <= 1 and 60000 or math.min(86400000, math.floor(60000 * total))
if moved then kept = 86400000 end -- as in forget_soon
if keep and string.find(keep, '^%d%d?%d?%d?%d?%d?%d?%d?%d?%d?$') then -- of a spread group
  kept = math.max(kept, keep + 0)
end
redis.call('PEXPIRE', g, string.format('%d', kept))

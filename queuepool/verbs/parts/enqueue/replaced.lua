-- What replaced bodies change: bytes, the largest one, and who is due next.
-- uses: add
if grown ~= 0 then add(c, 'bytes', grown) end
if largest and heaviest > math.max(largest, most) then
  redis.call('HSET', c, 'largest', heaviest)
end
if moved and redis.call('ZCOUNT', dl, '-inf', '(' .. moved) == 0 then sooner = true end

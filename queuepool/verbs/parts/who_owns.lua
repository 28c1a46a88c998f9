-- The owner: its nonce, empty after it left, and its epoch.
local holder = redis.call('HMGET', base .. ':o', 'nonce', 'epoch')

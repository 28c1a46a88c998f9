local function is_state(text) return text == 'held' or text == 'capped' end -- of a managed group

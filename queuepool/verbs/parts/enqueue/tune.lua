-- uses: tune
for _, group in ipairs(tuned) do able = tune(group, true) > 0 or able end

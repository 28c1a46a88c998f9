-- uses: tune, tune_tenant
for _, group in ipairs(tuned) do able = tune(group, true) > 0 or able end
for tenant in pairs(tuned.tenants or {}) do able = tune_tenant(tenant, true) > 0 or able end

-- uses: probe_tenant
totals.tenants = totals.tenants or {}
totals.tenants[g] = {ARGV[i], tonumber(counts[1]) or 0} -- what it has left before this
probe_tenant(ARGV[i])

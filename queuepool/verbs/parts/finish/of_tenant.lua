-- uses: probe_tenant
tenants = tenants or {}
tenants[ARGV[i]] = 0 -- jobs done
probe_tenant(ARGV[i])

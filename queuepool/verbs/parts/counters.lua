local counters = {'r0', 'r1', 'r2', 'r3', 'k0', 'k1', 'k2', 'k3', 'cut', 'aside', 'dn', 'dn_since',
  'bytes', 'dead_bytes', 'largest', 'enqueued', 'done', 'failed', 'retried', 'died', 'cancelled',
  'duplicate', 'recovered', 'fenced', 'evicted', 'discarded', 'replayed', 'duplicate_finish',
  'rollback_finish', 'conflicts', 'expired', 'replaced', 'held', 'capped', 'hold', 'rare', 'tried',
  'parked', 'admitted', 'route', 'shut', 'probe'}

"""queuepool demo: real processes, 100,000 jobs, and an independent count at the end.

tasks     what the consumers run; each execution records its job id
load      the bulk actions and small groups that are enqueued
ledger    joins what was enqueued with what was executed: lost, duplicates, waits
show      the live view and the summary
main      runs it all
"""

"""Partitions, consumers and leaders in virtual time, driving the real planner and policies. Pure.

The only randomness is seeded: the same scenario gives the same run, job by job, whatever the policy
does, so that the waits of two policies can be compared job by job.
"""

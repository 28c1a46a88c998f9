"""Flows: steps that follow others, as a graph, made of batches.

Each step has a batch, which its jobs are in. Each job of a step that follows others waits in a
batch of its own, a *gate*, as its continuation; the jobs of that one are the steps. The flow is a
batch of all steps, and has the graph.

    a job ends --> its step notes it --when all have ended--> gates of its followers, and the flow
                                                              `--all told--> a job of a follower

Invariants
  G1 a step tells its followers its outcome in the script that notes the end of its last job,
     through the stream of ends, which is relayed at least once. A gate counts each step once, and
     lets its job go once: as batches do.
  G2 nothing starts before all is there but the jobs of first steps: records, then what waits, then
     the first steps, then all is sealed. A crash in between leaves gates that are not sealed: their
     deadline lets nothing go. The same flow enqueued again has the same names and ids, and adds
     what is missing.
  G3 a dead job that is replayed takes back what its step told, and the step tells again: `wait`
     waits, and what was let go before is not let go again.
"""

"""What runs jobs: pools of three kinds behind one interface, and how one job is run.

| kind | for | a timeout | a crash costs |
|---|---|---|---|
| threads | ordinary blocking code | is raised at the next bytecode | the process |
| async | coroutines, no thread a job | cancels at the next await | the process |
| process | CPU work, unsafe C code | kills the child, always | that job |

    submit(jobs)      hands jobs over, in order; they begin as places are free
    withdraw()        takes back those that did not begin
    resize(target)    more places at once; fewer as jobs end, never by an interruption
    take_ended()      what ended since the last call; `ring` has told that there is something
    close(timeout_s)  no places any more

    alive, target, queued, spare    places there are, and should be; jobs that wait; places beyond
                                    the target (below 0: so many are missing)

Invariants: a job that was submitted is withdrawn or ends, once. One thread (the loop) calls all of
this, and nothing here but `close` waits. Whatever a handler does is an outcome, never an exception
of the pool (consumer.workers.runner).
"""

"""Pools that run jobs, of three kinds behind one interface, and the execution of one job.

| kind | for | at a timeout | a crash affects |
|---|---|---|---|
| threads | ordinary blocking code | raises at the next bytecode | the consumer |
| async | coroutines, no thread per job | cancels at the next await | the consumer |
| process | CPU-bound work, unsafe C code | kills the child, always | that job |

    submit(jobs)      hands jobs over, in order; they start as slots become free
    withdraw()        takes back those that have not started
    resize(target)    grows at once; shrinks as jobs end and never interrupts one
    take_ended()      returns the outcomes since the last call; `ring` announces them
    close(timeout_s)  removes all workers

    alive, target     workers there are, and should be
    queued            jobs that wait for a worker
    spare             slots beyond the target; negative while some are missing

Invariants: every submitted job is either withdrawn or ends, once. One thread (the loop) calls all
of this, and only `close` waits. Whatever a handler does becomes an outcome, never an exception of
the pool (consumer.workers.runner).
"""

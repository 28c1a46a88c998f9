"""Moves waiting jobs in from other job queues: Celery, RQ, BullMQ and arq, in Redis.

    foreign    what a job of another queue is once it is read, or why it is refused. Pure
    celery, rq, bullmq, arq    where each keeps its jobs, and how a job is written. Pure but for
               the source that they are given
    naming     which task of ours a foreign one is, and the names of its arguments. Pure
    source     the server that they are on
    note       what is noted there about the page that is moved; remove.lua removes its jobs
    moving     page by page: note, hold, enqueue, remove there, release
    report     what was found and done. Pure

Nothing that was pickled is ever read: it could run any code.
"""

"""Moves waiting jobs in from other job queues: Celery, RQ, BullMQ and arq, in Redis.

    foreign    what a job of another queue is once it is read, or why it is refused. Pure
    celery, rq, bullmq, arq    where each keeps its jobs, and how a job is written. Pure but for
               the source that they are given
    naming     which task of ours a foreign one is, and the names of its arguments. Pure
    source     the server that they are on
    moving     page by page: hold, enqueue, remove there, release

Nothing that was pickled is ever read: it could run any code.
"""

"""What applications use: the Queue Pool, sync and asyncio, task groups, handles and results."""

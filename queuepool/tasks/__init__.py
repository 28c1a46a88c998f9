"""Tasks and their jobs: the decorator, the registry, arguments by annotation, retry delays."""

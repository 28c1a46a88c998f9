"""Tasks and their jobs: the decorator, the registry, arguments checked by annotation, retry delays."""

"""What is stored and how it is named: keys, bodies of jobs, ids. Pure."""

"""The page in a real headless Chromium, over a real cluster: `make test-browser`.

Every page in three widths and both themes, every act by mouse, and by keyboard alone; axe looks
for what people with disabilities would stumble over; no page asks another host for anything.
"""

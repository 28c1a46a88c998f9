"""Words and phrases that a native reader stumbles over, and what to write instead.

Only what is never right here is listed: a rule that must be argued with is no rule.
"""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.paths import ROOT

INSTEAD = {
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bwithout a word\b": "silently",
    r"\bof ill will\b": "malicious",
    r"\bas a makeshift\b": "as a stopgap",
    r"\bnobody can guard\b": "cannot be isolated",
    r"\bfeed the question\b": "creates a feedback loop",
    r"\bnobody told us\b": "undeclared",
    r"\bof one sitting\b": "of one run",
    r"\btakes? no innocent along\b": "never buries unrelated jobs",
    r"\bcome back by themselves\b": "scale back down automatically",
    r"\b(How long is what|What one asks)\b": "a heading of nouns",
    r"\bfor ever\b": "forever",
    r"\banew\b": "again, or re-",
    r"\bin vain\b": "without success, or failed",
    r"\bowner life\b": "ownership",
    r"\bin-flight books?\b": "in-flight set",
    r"\bburns? (no|an) attempt\b": "uses an attempt",
    r"\bby hand for a time\b": "manually for a limited time",
    r"\bthree in the morning\b": "during an incident, or troubleshooting",
    r"\b(is|are) there no more\b": "no longer exists",
    r"\ball is well\b": "no problems found",
    r"\bone may ask of\b": "may expect of",
    r"\bpoison among others\b": "poison jobs",
    r"\bwould change our mind\b": "when to reconsider",
    r"\bno innocents?\b": "no unrelated job",
    r"\bkeeps? an eye on\b": "watches",
    r"\bfor want of\b": "for lack of",
    r"\bputs? right\b": "repairs",
    r"\b(is|are) no numbers?\b": "is not a number",
    r"\b(a version|versions) before\b": "an earlier version",
    r"\bnone of ours\b": "not ours",
    r"\btexts? of (a )?strangers?\b": "untrusted text",
    r"\bin (one|two) pairs? of hands\b": "held by one thread",
    r"\bwhence\b": "from where",
    r"\bas ever\b": "as before, or unchanged",
    r"\bbears? out\b": "confirms",
    r"\bwhat became of\b": "the outcome of",
    r"\bcron texts?\b": "cron expression",
    r"\b(is|are) no backlog\b": "does not count as backlog",
    r"\bfunctions? of yours\b": "your own function",
    r"\bid of your own\b": "your own id",
    r"\b(W|w)ho did what\b": "operator actions and events",
    r"\bAll well\b": "no problems found",
    r"\bwhat remedies\b": "how to fix it",
    r"\b(kept|keep) in the log\b": "recorded in the log",
    r"\bact on many\b": "bulk action",
    r"\bends? of an act\b": "how an action ended",
    r"\bclock on the wall\b": "wall clock",
    r"\bchanges? of clocks\b": "daylight saving time, or a clock change",
    r"\bupside down\b": "reversed",
    r"\b(a|A) second delivery\b|\bsecond deliveries\b": "duplicate delivery",
    r"\bis no (JSON|rate|share|step|setting|parameter|transaction)\b": "is not a rate, is not JSON",
    r"\bwanted waits?\b": "target wait",
    r"\bapart from each other\b": "independently",
    r"\b(H|h)ow far it goes\b": "limits of scale",
    r"\b(come|comes) to match\b": "match later",
    r"\bof one sort\b": "of one type",
    r"\bleast workers\b": "minimum workers",
    r"\bbefore an act\b": "before an action",
    r"\bwhat stands (before|there|in)\b": "the part before, or what it contains",
    r"\bat the very worst\b": "at most",
}
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "deploy/**/*.md", "queuepool/**/*.py",
                    "consumer/**/*.py", "coordinator/**/*.py", "tests/**/*.py", "tools/*.py",
                    "benchmarks/**/*.py")
    for path in ROOT.glob(pattern)
    if path != Path(__file__).resolve() and "_pb2" not in path.name
)  # fmt: skip


@cache
def text(page: Path) -> str:
    return page.read_text()


@pytest.mark.parametrize("phrase", INSTEAD)
def test_a_phrase_that_readers_stumble_over_is_nowhere(phrase: str) -> None:
    assert len(PAGES) > 300
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in PAGES
        if re.search(phrase, text(path))
        for number, line in enumerate(text(path).splitlines(), 1)
        if re.search(phrase, line)
    ]

    assert found == [], f"write: {INSTEAD[phrase]}"

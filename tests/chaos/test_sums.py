"""What the chaos suite says about batches and the sums that continued them."""

from pathlib import Path

import pytest

from tests.chaos.sums import disagreement, sums


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["a job1 3 3"], []),
        (["a job1 3 3", "a job1 3 3"], []),  # run again after a kill
        ([], ["a: its jobs have ended, and nothing continued it"]),
        (["a job1 3 3", "a job2 3 3"], ["a: continued by several jobs: "]),
        (["a job1 2 1"], ["a: [('job1', 2, 1)], of 3 jobs that add up to 3"]),
        (["b job1 3 3"], ["a: its jobs have ended, and nothing continued it"]),
    ],
)
def test_each_batch_is_continued_by_one_job_with_all_results(
    tmp_path: Path, lines: list[str], said: list[str]
) -> None:
    (tmp_path / "batches").write_text("a\n")
    for number, line in enumerate(lines):
        (tmp_path / f"sums-{number}").write_text(f"{line}\n")

    found = disagreement(tmp_path, 3)

    assert len(found) == len(said)
    assert all(sentence.startswith(text) for sentence, text in zip(found, said, strict=True))
    assert sum(map(len, sums(tmp_path).values())) == len(lines)

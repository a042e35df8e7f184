"""Many rows lose nothing: errors of one row, processes that die, batches that are stopped and go on."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from armin import ARMIN, Feature, Schema
from armin.cli import app
from armin.cli import run as running
from armin.cli.options import Answers, Output
from armin.errors import DataError, ParameterError, RowError
from armin.explain import parts as part_files
from armin.explain.parts import Parts
from armin.explain.pool import share_out
from armin.recourse import Failure, Recourse

from touchy import ODD, Touchy

SCHEMA = Schema(
    (
        Feature("age", "integer", lower=18, upper=80, direction="fixed"),
        Feature("savings", "integer", lower=0, upper=50),
        Feature("loans", "integer", lower=0, upper=6),
    )
)


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"age": rng.integers(18, 60, n), "savings": rng.integers(0, 51, n), "loans": rng.integers(0, 7, n)}
    )


TRAIN = table(300)
LABELS = np.where(TRAIN["savings"] - 6 * TRAIN["loans"] > 5, 1, 0)


def people(n=24):
    frame = table(n, seed=1)
    frame["savings"] = frame["savings"].astype(float).mask(np.arange(n) % 3 == 0)
    frame.loc[n // 2, "age"] = ODD
    return frame


def explainer(fault="", folder="", **more):
    model = Touchy(folder=str(folder)).fit(TRAIN, LABELS)
    fitted = ARMIN.from_settings(model, SCHEMA, desired=1, n_samples=20, n_fresh=50, sampler="donors", **more).fit(
        TRAIN
    )
    fitted.classifier.fault = fault
    return fitted


@pytest.fixture(scope="module")
def undisturbed():
    return explainer().explain_many(people())


def same(one, other) -> bool:
    return one.to_frame().equals(other.to_frame())


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("method", ["auto", "blackbox"])
def test_any_error_belongs_to_its_row(undisturbed, n_jobs, method):
    """Also one that cannot be pickled, and one that is raised when a block of rows is compared with the model."""
    answers = explainer("raise", method=method).explain_many(people(), n_jobs=n_jobs)
    (failure,) = answers.failures
    assert failure is answers[12]
    assert isinstance(failure.error, RowError)
    assert str(failure.error).startswith("The classifier raised BadError: no such. ")
    if method == "auto":
        others = [i for i in range(24) if i != 12]
        assert answers.to_frame().iloc[others].equals(undisturbed.to_frame().iloc[others])


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_killed_process_loses_nothing_and_gets_the_explainer_once(undisturbed, tmp_path):
    touchy = explainer("kill once", tmp_path)
    assert same(touchy.explain_many(people(), n_jobs=2), undisturbed)
    assert (tmp_path / "once").exists()  # it was killed
    loads = [file.name.split("-")[1] for file in tmp_path.glob("loaded-*")]
    assert len(loads) == len(set(loads))  # each process once
    assert len(loads) <= 4  # the two, and two new ones, for eight blocks


def test_the_processes_of_joblib_are_left_to_joblib(undisturbed):
    """It found ours in the place of its own, and every later call of a user's ended with an error."""
    assert same(explainer().explain_many(people(), n_jobs=2), undisturbed)
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(abs)(number) for number in (-1, 2)) == [1, 2]
    assert same(explainer().explain_many(people(), n_jobs=2), undisturbed)


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_deaths_one_after_the_other_lose_nothing(tmp_path):
    """Blocks that wait to be tried again are not lost when the next process dies."""

    def work(items):
        for item in items:
            deaths = tmp_path / f"{item}-{len(list(tmp_path.glob(f'{item}-*')))}"
            if {3: 3, 20: 1, 21: 1, 60: 1}.get(item, 0) > int(deaths.name.split("-")[1]):
                deaths.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return [2 * item for item in items]

    blocks = [[(number, number) for number in range(start, start + 4)] for start in range(0, 80, 4)]
    found = sorted(share_out(work, blocks, 2))
    assert found == [(number, 2 * number) for number in range(80)]
    assert len(list(tmp_path.iterdir())) == 6


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_row_that_kills_every_process_is_given_up_alone(undisturbed, tmp_path):
    answers = explainer("kill", tmp_path).explain_many(people(), n_jobs=2)
    (failure,) = answers.failures
    assert failure is answers[12]
    assert "died 3 times" in str(failure.error)
    others = [i for i in range(24) if i != 12]
    assert answers.to_frame().iloc[others].equals(undisturbed.to_frame().iloc[others])


ALONE = """
import os, time
from armin.explain.pool import share_out
if __name__ == "__main__":
    results = share_out(lambda items: [os.getpid() for _ in items], [[(0, None)], [(1, None)]], 2)
    print(next(results)[1], flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a process is not told whose child it is")
def test_processes_end_with_a_parent_that_was_killed():
    """They would keep their memory for minutes, and a run that is started anew would have twice as many."""
    with subprocess.Popen([sys.executable, "-c", ALONE], stdout=subprocess.PIPE) as parent:
        worker = int(parent.stdout.readline())
        parent.kill()

    def lives():
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return False
        state = Path(f"/proc/{worker}/stat")
        return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"

    end = time.monotonic() + 30
    while lives() and time.monotonic() < end:
        time.sleep(0.1)
    assert not lives()


def test_what_cannot_travel_is_said_before_anything_is_asked():
    fitted = explainer()
    fitted.classifier.lock = threading.Lock()
    with pytest.raises(ParameterError, match="cannot be sent to other processes"):
        fitted.explain_many(people(), n_jobs=2)
    assert len(fitted.explain_many(people(), n_jobs=1)) == 24


# --- answers on disk ---


@settings(max_examples=60)
@given(st.integers(1, 200), st.data())
def test_whatever_is_damaged_is_made_again_and_nothing_else(tmp_path_factory, total, data):
    """A cut, a flipped bit, a swap or a loss of any part: what is read is what was written."""
    folder = tmp_path_factory.mktemp("cut") / "answers"
    answers = {row: {"plan": f"of {row}", "cost": row / 7} for row in range(total)}
    parts = Parts(folder, "question", total)
    for row in data.draw(st.permutations(range(total))):
        parts.add(row, answers[row])
    assert dict(parts) == answers
    files = sorted(folder.glob("part-*"))
    file = data.draw(st.sampled_from(files))
    content = bytearray(file.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    match data.draw(st.sampled_from(["cut", "flip", "lose"])):
        case "cut":
            file.write_bytes(content[:place])
        case "flip":
            content[place] ^= 1 << data.draw(st.integers(0, 7))
            file.write_bytes(content)
        case "lose":
            file.unlink()
    again = Parts(folder, "question", total)
    missing = again.missing()
    assert 0 < len(missing) <= again.size
    assert len(again) == total - len(missing)
    assert dict(again) == {row: answer for row, answer in answers.items() if row not in missing}
    for row in missing:
        again.add(row, answers[row])
    assert dict(Parts(folder, "question", total)) == answers


def test_a_damaged_part_is_reported(tmp_path, caplog):
    parts = Parts(tmp_path / "answers", "question", 2)
    parts.add(0, "one")
    (tmp_path / "answers" / "part-000000.json").write_text("nonsense")
    assert Parts(tmp_path / "answers", "question", 2).missing() == [0, 1]
    assert "part-000000.json is damaged" in caplog.text


def test_a_part_in_the_place_of_another_does_not_lend_its_answers(undisturbed, tmp_path):
    """Two files that somebody exchanged hold whole parts, of other rows."""
    store = tmp_path / "plans"
    fitted = explainer()
    fitted.explain_many(people(), store=store)
    one, other = (store / f"part-{i:06}.json" for i in (3, 4))
    first = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(first)
    assert same(fitted.explain_many(people(), store=store), undisturbed)


def test_a_folder_has_one_question(tmp_path):
    folder = tmp_path / "answers"
    Parts(folder, "one", 3)
    for question, total in (("two", 3), ("one", 4)):
        with pytest.raises(DataError, match="another question"):
            Parts(folder, question, total)
    with pytest.raises(DataError, match="cannot be written: No such file"):
        Parts(tmp_path / "none" / "answers", "one", 3)
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot be written: File exists"):
        Parts(tmp_path / "file", "one", 3)


@pytest.mark.parametrize("name", ["letter.txt", "manifest.json"])
@pytest.mark.parametrize("text", ["Dear", "", '{"format"', '{"format": "other/1"}', "[1]"])
def test_a_folder_of_somebody_else_is_left_alone(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match="something else"):
        Parts(tmp_path, "one", 3)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == text


@pytest.mark.skipif(sys.platform == "win32", reason="an open file is not replaced there")
def test_whoever_reads_the_old_file_reads_it_to_its_end(tmp_path):
    """The new one takes its place in one step."""
    file = tmp_path / "plans"
    file.write_text("the old plans")
    with file.open() as reader:
        run(file, fitted=explainer())
        assert reader.read() == "the old plans"
    assert "person 9" in file.read_text()


@pytest.mark.parametrize("jobs", [1, 2])
def test_any_error_of_a_command_belongs_to_its_row(tmp_path, jobs):
    file = tmp_path / "plans.jsonl"
    assert run(file, jobs=jobs, fitted=explainer("raise")) == 1
    failed = ["error" in json.loads(line) for line in file.read_text().splitlines()]
    assert failed == [i == 5 for i in range(10)]


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_nobody_waits_for_an_answer_with_a_link(tmp_path, monkeypatch):
    """In a folder that others write to, a link of the name that is written first would lead to another file."""
    theirs = tmp_path / "theirs"
    theirs.write_text("precious")
    monkeypatch.setattr("armin.cli.answers.secrets.token_hex", lambda count: "guessed")
    (tmp_path / ".plans.guessed.tmp").symlink_to(theirs)
    with pytest.raises(ParameterError, match="cannot be written"):
        run(tmp_path / "plans", fitted=explainer())
    assert theirs.read_text() == "precious"


def full_disk(*_):
    raise OSError(28, "No space left on device")


def test_a_full_disk_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(part_files.os, "fsync", full_disk)
    with pytest.raises(DataError, match=r"cannot be written: No space left on device\. The parts until now are kept"):
        Parts(tmp_path / "answers", "one", 3)


def test_a_disk_that_fills_up_is_a_sentence_and_counts_what_is_kept(tmp_path, monkeypatch, capsys):
    """What could not be written is not counted, and leaves nothing behind."""
    output, kept = tmp_path / "plans", Parts.add

    def add(self, row, answer):
        if row == 3:
            monkeypatch.setattr(part_files.os, "fsync", full_disk)
        kept(self, row, answer)

    with monkeypatch.context() as patch:
        patch.setattr(Parts, "add", add)
        with pytest.raises(ParameterError, match=r"plans'.*cannot be written: No space left on device\..*make room"):
            run(output, fitted=explainer())
    monkeypatch.undo()
    assert "3 of 10 rows are kept" in capsys.readouterr().err
    assert not list((tmp_path / "plans.parts").glob(".*"))
    run(output, resume=True, fitted=explainer())
    assert output.exists()


def timeless(answer):
    return re.sub(r'"(seconds|sampling|building|solving)": [0-9.e+-]+', "", json.dumps(answer.to_dict()))


def test_a_batch_that_was_stopped_goes_on(undisturbed, tmp_path):
    touchy, store = explainer("interrupt once", tmp_path), tmp_path / "plans"
    with pytest.raises(KeyboardInterrupt):
        touchy.explain_many(people(), store=store)
    parts = sorted(store.glob("part-*"))
    assert len(parts) == 12  # two whole blocks, in which nobody is of that age
    parts[-1].write_bytes(parts[-1].read_bytes()[:-9])  # and the last part was cut off
    explained = []
    block = touchy._explain_block
    touchy._explain_block = lambda rows, locked: explained.extend(rows) or block(rows, locked)
    assert same(touchy.explain_many(people(), store=store), undisturbed)
    assert [label for label, _ in explained] == list(range(11, 24))
    again = touchy.explain_many(people(), store=store)
    assert len(explained) == 13
    assert [timeless(one) for one in again] == [timeless(one) for one in undisturbed]
    with pytest.raises(DataError, match="another question"):
        touchy.explain_many(people(12), store=store)
    with pytest.raises(DataError, match="another question"):
        touchy.set_params(max_changes=1).explain_many(people(), store=store)


def test_failures_are_kept_too(tmp_path):
    touchy = explainer("raise")
    first = touchy.explain_many(people(), store=tmp_path / "store")
    again = touchy.explain_many(people(), store=tmp_path / "store")
    assert isinstance(again[12], Failure)
    assert same(first, again)
    assert all(isinstance(answer, Recourse) for i, answer in enumerate(again) if i != 12)


# --- the command ---


def run(output, to=None, resume=False, jobs=1, ask=running.ask_plan, fitted=None):
    frame = people(10).set_axis([f"person {i}" for i in range(10)])
    return running.run(fitted or explainer(), frame, ask, Answers(to=to, output=output, resume=resume, jobs=jobs))


@pytest.mark.parametrize("to", list(Output))
def test_a_run_that_was_stopped_goes_on_to_the_same_file(tmp_path, to, capsys):
    if to is Output.PARQUET:
        pytest.importorskip("pyarrow")
    whole, file = tmp_path / "whole", tmp_path / "plans"
    fitted = explainer("interrupt once", tmp_path)
    (tmp_path / "once").touch()
    code = run(whole, to, fitted=fitted)
    (tmp_path / "once").unlink()
    file.write_text("what was there before")
    file.chmod(0o640)
    parts = tmp_path / "plans.parts"
    with pytest.raises(KeyboardInterrupt):
        run(file, to, fitted=fitted)
    assert "5 of 10 rows are kept" in capsys.readouterr().err
    assert file.read_text() == "what was there before"
    with pytest.raises(ParameterError, match="Go on with --resume"):
        run(file, to, fitted=fitted)
    assert len(list(parts.glob("part-*"))) == 5
    assert run(file, to, resume=True, fitted=fitted) == code
    seconds = re.compile(r'\d+ ms|\d+\.\d s|"seconds": [^,}]*|"(sampling|building|solving)": [^,}]*')
    if to is Output.PARQUET:
        pd.testing.assert_frame_equal(pd.read_parquet(file), pd.read_parquet(whole))
    else:
        assert seconds.sub("", file.read_text()) == seconds.sub("", whole.read_text())
    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith((".", "plans"))) == ["plans"]


def test_another_run_is_not_resumed_and_resume_needs_a_file(tmp_path):
    fitted = explainer("interrupt once", tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "plans.csv", fitted=fitted)
    with pytest.raises(DataError, match="another question"):
        run(tmp_path / "plans.csv", resume=True, fitted=fitted, ask=running.ask_path)
    with pytest.raises(ParameterError, match="Name it with --output"):
        run(None, resume=True)


def test_a_broken_row_of_a_command_is_one_line(tmp_path):
    assert run(tmp_path / "plans.json", jobs=2, fitted=explainer("raise")) == 1
    lines = [json.loads(line) for line in (tmp_path / "plans.json").read_text().splitlines()]
    assert [line["row"] for line in lines] == [f"person {i}" for i in range(10)]
    assert [line["row"] for line in lines if line["outcome"] == "failed"] == ["person 5"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
def test_a_full_disk_is_told_by_the_command():
    with pytest.raises(ParameterError, match=r"--output '/dev/full' cannot be written: No space left on device\."):
        run(Path("/dev/full"), Output.JSON)


def test_what_the_system_refuses_is_a_sentence(monkeypatch, tmp_path):
    def full(*_, **__):
        raise OSError(28, "No space left on device", str(tmp_path / "file"))

    monkeypatch.setattr("armin.cli.prepare.read_table", full)
    result = CliRunner().invoke(app, ["schema", "train.csv"])
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert "ARMIN itself failed" not in result.stderr

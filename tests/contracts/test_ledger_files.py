"""What every file system that holds a ledger must promise: one winner, whole files, none half there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.errors import Refused, Unavailable
from penstock.files import Files, LocalFiles
from penstock.hadoop import HadoopFiles
from penstock.testing.harness import wait_until
from penstock.testing.hdfs import hdfs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RACERS, RACES = 6, 25
Make = Callable[[], Files]


class FilesSuite:
    """Facts about a file system; `make` gives a client of its own, `root` a folder that is not there yet."""

    def test_the_second_writer_gets_what_the_first_wrote(self, make: Make, root: str) -> None:
        assert make().create_once(f"{root}/deep/1.json", b"first \xff\x00") == b"first \xff\x00"
        assert make().create_once(f"{root}/deep/1.json", b"second") == b"first \xff\x00"
        assert make().read(f"{root}/deep/1.json") == b"first \xff\x00"

    def test_of_many_racing_writers_one_wins_and_all_agree_who(self, make: Make, root: str) -> None:
        clients = [make() for _ in range(RACERS)]
        barrier = threading.Barrier(RACERS)

        def race(me: int) -> list[bytes]:
            won = []
            for number in range(RACES):
                barrier.wait(60)
                won.append(clients[me].create_once(f"{root}/{number}.json", b"%d" % me * 1000))
            return won

        with ThreadPoolExecutor(RACERS) as pool:
            told = list(pool.map(race, range(RACERS)))
        for number in range(RACES):
            assert {each[number] for each in told} == {clients[0].read(f"{root}/{number}.json")}
        assert clients[0].names(root) == sorted(f"{number}.json" for number in range(RACES)), "no drafts are left"

    def test_what_is_not_there_reads_as_none(self, make: Make, root: str) -> None:
        files = make()
        assert files.read(f"{root}/no") is None
        assert files.names(f"{root}/no") == []
        files.remove([f"{root}/no"])
        files.remove_tree(f"{root}/no")

    def test_files_can_be_removed_one_by_one_and_all_at_once(self, make: Make, root: str) -> None:
        files = make()
        for name in ("a", "b", "c/d"):
            files.create_once(f"{root}/{name}", b"x")
        files.remove([f"{root}/a", f"{root}/a"])
        assert files.names(root) == ["b", "c"]
        files.remove_tree(root)
        assert files.names(root) == []

    def test_large_files_come_back_byte_for_byte(self, make: Make, root: str) -> None:
        body = bytes(range(256)) * 8192
        make().create_once(f"{root}/large", body)
        assert make().read(f"{root}/large") == body

    def test_a_file_that_is_replaced_is_the_old_one_or_the_new_one(self, make: Make, root: str) -> None:
        files = make()
        files.replace(f"{root}/pulse", b"1")
        files.replace(f"{root}/pulse", b"2")
        assert files.read(f"{root}/pulse") == b"2"
        assert files.names(root) == ["pulse"], "no drafts are left"

    def test_a_folder_can_be_given_another_name(self, make: Make, root: str) -> None:
        files = make()
        files.create_once(f"{root}/spark/offsets/0", b"x")
        files.move(f"{root}/spark", f"{root}/spark.g1")
        assert not files.exists(f"{root}/spark")
        assert files.exists(f"{root}/spark.g1")
        assert files.read(f"{root}/spark.g1/offsets/0") == b"x"

    def test_a_local_file_goes_there_and_comes_back(self, make: Make, root: str, tmp_path: Path) -> None:
        body = bytes(range(256)) * 5000
        (tmp_path / "mine").write_bytes(body)
        make().put(tmp_path / "mine", f"{root}/deep/rows")
        make().put(tmp_path / "mine", f"{root}/deep/rows")
        make().fetch(f"{root}/deep/rows", tmp_path / "other" / "rows")
        assert (tmp_path / "other" / "rows").read_bytes() == body

    def test_what_is_not_there_cannot_be_fetched(self, make: Make, root: str, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            make().fetch(f"{root}/no", tmp_path / "other" / "rows")
        assert not list(tmp_path.rglob("*rows*")), "not even a half of it"


class TestLocal(FilesSuite):
    @pytest.fixture
    def make(self) -> Make:
        return LocalFiles

    @pytest.fixture
    def root(self, tmp_path: Path) -> str:
        return str(tmp_path / "state")


@pytest.fixture(scope="module")
def cluster(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real HDFS for this module."""
    with hdfs(tmp_path_factory.mktemp("hdfs")) as uri:
        files = HadoopFiles(spark, uri)
        wait_until(lambda: _answers(files, uri), "the data node answers", 180)
        yield uri


@pytest.mark.slow
class TestHdfs(FilesSuite):
    @pytest.fixture
    def make(self, spark: SparkSession, cluster: str) -> Make:
        return lambda: HadoopFiles(spark, cluster)

    @pytest.fixture
    def root(self, cluster: str, tmp_path: Path) -> str:
        return f"{cluster}/{tmp_path.name}"


def _answers(files: Files, uri: str) -> bool:
    try:
        return files.create_once(f"{uri}/answers", b"yes") == b"yes"
    except Unavailable:
        return False


@pytest.mark.parametrize("root", ["file:///tmp/state", "s3a://bucket/state", "abfss://c@a/state"])
def test_a_file_system_that_was_not_raced_is_refused(spark: SparkSession, root: str) -> None:
    with pytest.raises(Refused, match="created once have not been proven"):
        HadoopFiles(spark, root)

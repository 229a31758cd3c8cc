"""The demo: a payments stream through a real Kafka into a Delta table, a kill -9 on the way, and a count by others.

Nothing is staged: the pipeline is `penstock run` on the file that stays in the folder, the kill is SIGKILL to all of
its processes while a batch is in hand, and the count asks the topic and the tables.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from penstock.counting import counted
from penstock.dev import demo_report, kafka
from penstock.dev.demo_commands import next_steps, typed
from penstock.dev.demo_folder import TOPIC, DemoFolder
from penstock.dev.demo_pipeline import PipelineProcess, Told
from penstock.dev.demo_producer import Producer
from penstock.dev.demo_screen import Screen
from penstock.engine import jars
from penstock.errors import SetupFailed

BATCHES_BEFORE_THE_KILL = 3
SHARE_BEFORE_THE_KILL = 0.6
"""Where the machine is slow, the kill comes with the first batch after this share of the events was produced. Below
it one more batch is sure to come; so the kill always finds one."""
SHARE_UNTIL_COMMITTED = 0.4
SHARE_UNTIL_KILLED = 0.8
"""The producer waits here for the first commit and for the kill, so that there is a stream to see on any machine."""
PATIENCE_SECONDS = 300.0


def demo(path: Path, events: int, seconds: float) -> bool:
    """Show it all; True if the count found everything exactly once. Nothing it started runs on after it."""
    screen = Screen(events)
    _need_duckdb()
    for group in ("kafka", "spark"):
        jars.ensure(group, screen.text)
    folder = DemoFolder(path.absolute())
    folder.make_fresh()
    with ExitStack() as stack:
        screen.title(f"penstock demo: {events:,} payments, Kafka to Delta, with a kill -9 on the way")
        broker = _kafka(folder, screen)
        stack.callback(broker.stop)
        producer = Producer(broker.bootstrap, TOPIC, events, seconds)
        stack.callback(producer.stop)
        with screen:
            _Show(folder, producer, screen).go()
        screen.text()
        screen.text("[bold]Counted now, not by penstock: the topic by a Kafka client, the tables by DuckDB[/]")
        report = demo_report.count(broker.bootstrap, folder, producer)
        report.show(screen)
    if report.right:
        _next(folder, screen)
    return report.right


def _kafka(folder: DemoFolder, screen: Screen) -> kafka.DevKafka:
    began = time.monotonic()
    broker = kafka.up(folder.path, child=True)
    kafka.ensure_topic(broker.bootstrap, TOPIC, partitions=4)
    took = time.monotonic() - began
    screen.say("kafka", f"Apache Kafka runs at {broker.bootstrap}, topic {TOPIC} with 4 partitions ({took:.0f} s)")
    return broker


class _Show:
    """Producer and pipeline at work, until every event is committed."""

    def __init__(self, folder: DemoFolder, producer: Producer, screen: Screen) -> None:
        self.folder, self.producer, self.screen = folder, producer, screen
        self.batches: dict[int, Told] = {}
        """The committed batches."""

    def go(self) -> None:
        self.producer.limit = SHARE_UNTIL_COMMITTED
        self.producer.start()
        with self._pipeline() as first:
            self.screen.say("pipeline", f"penstock run {typed(self.folder.file)}, process {first.pid}")
            batch = self._until_ripe(first)
            self._kill(first, batch)
        self.producer.limit = 1.0
        with self._pipeline() as second:
            self._until_all_is_read(second, batch["batch_id"])
            for event in second.stop():
                self._note(event)
        self.screen.say("stop", f"SIGTERM: ended with code 0 after {counted(len(self.batches), 'batch', 'batches')}")

    @contextmanager
    def _pipeline(self) -> Iterator[PipelineProcess]:
        process = PipelineProcess(self.folder.file)
        try:
            yield process
        finally:
            process.kill()

    def _watch(self, process: PipelineProcess) -> Iterator[Told | None]:
        """The events of a pipeline, noted and shown; None between them."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        for event in process.events():
            self.screen.produced(self.producer.sent)
            if event is not None:
                self._note(event)
                deadline = time.monotonic() + PATIENCE_SECONDS
            elif time.monotonic() > deadline:
                raise SetupFailed(f"The pipeline said nothing for {PATIENCE_SECONDS:.0f} s.")
            yield event

    def _note(self, event: Told) -> None:
        if event["event"] == "batch_committed":
            self.batches[event["batch_id"]] = event
            self.producer.limit = max(self.producer.limit, SHARE_UNTIL_KILLED)
            rejected = sum(sum(batch["rejected"].values()) for batch in self.batches.values())
            self.screen.committed(self._read, event["batch_id"], rejected, self.producer.sent)
        elif event["event"] == "waiting":
            self.screen.say("waiting", event["cause"])

    @property
    def _read(self) -> int:
        return sum(int(batch["read"]) for batch in self.batches.values())

    def _until_ripe(self, process: PipelineProcess) -> Told:
        """The batch to kill, just started."""
        for event in self._watch(process):
            ripe = len(self.batches) >= BATCHES_BEFORE_THE_KILL or (
                self.producer.sent > SHARE_BEFORE_THE_KILL * self.producer.count
            )
            if event is not None and event["event"] == "batch_started" and ripe:
                return event
        raise AssertionError("a pipeline that ends raises")

    def _kill(self, process: PipelineProcess, batch: Told) -> None:
        last = max(self.batches.values(), key=lambda each: int(each["batch_id"]), default=None)
        time.sleep(min(0.5, 0.3 * last["seconds"]) if last else 0.5)  # into the middle of it
        for event in process.kill():
            self._note(event)
        number = batch["batch_id"]
        state = (
            "just as it was committed"
            if number in self.batches
            else f"with {counted(batch['offsets'], 'record')} in hand"
        )
        self.screen.say("[bold red]kill -9[/]   ", f"in batch {number}, {state}")

    def _until_all_is_read(self, process: PipelineProcess, killed: int) -> None:
        for event in self._watch(process):
            if event is not None and event["event"] == "run_started":
                self.screen.say("restart", f"process {process.pid}, resumes at batch {event['resumes_at']}")
            if event is not None and event["event"] == "batch_committed" and event["batch_id"] == killed:
                how = "from the files of the first try" if event["replayed"] else "read once more"
                self.screen.say("", f"batch {killed} is committed: {counted(event['read'], 'record')}, {how}")
            if self.producer.done and self._read >= self.producer.count:
                return


def _next(folder: DemoFolder, screen: Screen) -> None:
    screen.text()
    screen.text("[bold]The pipeline file, the tables and the events stay. Try next[/]")
    for words, commands in next_steps(folder.path, folder.file, folder.dead_letters):
        screen.text(f"[cyan]{words}[/]")
        for command in commands:
            screen.command(command)


def _need_duckdb() -> None:
    """Say it before the demo, not at its end."""
    try:
        import duckdb  # noqa: F401
    except ImportError as error:
        raise SetupFailed("The demo's count needs DuckDB, which is not here.", remedy="pip install duckdb") from error

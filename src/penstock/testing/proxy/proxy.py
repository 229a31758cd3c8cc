"""The proxy itself: a listener, its links, the rules, and what is held."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.dev.kafka import DevKafka, down, up
from penstock.testing.proxy.link import Link
from penstock.testing.proxy.rules import Action, Held, Rule
from penstock.testing.proxy.wire import Api, Request, name_of

HOST = "127.0.0.1"


class Proxy:
    """Listens from the moment it is made; passes connections on once it has a `target`. Ends with its `with`."""

    def __init__(self, target: int | None = None) -> None:
        self.target = target
        """The broker's port: the one whose clients are told this proxy's address."""
        self.listener = socket.create_server((HOST, 0))
        self.port = int(self.listener.getsockname()[1])
        self.counts: Counter[int] = Counter()
        """Requests by kind, those that were held or lost included."""
        self.held: list[Held] = []
        """What is or was held, in the order of its coming."""
        self.rules: list[Rule] = []
        self.links: set[Link] = set()
        self._changed = threading.Condition()
        self._light = threading.Event()
        self._light.set()
        self._open = True
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def bootstrap(self) -> str:
        return f"{HOST}:{self.port}"

    def hold(self, api: Api, *, times: int | None = 1, of: str = "") -> Rule:
        """Keep requests from the broker until they are released, even after their client has gone."""
        return self._add(Rule(Action.HOLD, api, times, of))

    def hold_answer(self, api: Api, *, times: int | None = 1, of: str = "") -> Rule:
        """Let requests through, and keep the answers from the client until they are released."""
        return self._add(Rule(Action.HOLD_ANSWER, api, times, of))

    def lose(self, api: Api, *, times: int | None = 1, of: str = "") -> Rule:
        """Take requests and cut their connections: the client tries again. What was taken can be released, late."""
        return self._add(Rule(Action.LOSE, api, times, of))

    def lose_answer(self, api: Api, *, times: int | None = 1, of: str = "") -> Rule:
        """Let requests through to be done, and cut the connection when the answer comes."""
        return self._add(Rule(Action.LOSE_ANSWER, api, times, of))

    def copy(self, api: Api, *, times: int | None = 1, of: str = "") -> Rule:
        """Let requests through and keep a copy, to be released as a repeated one."""
        return self._add(Rule(Action.COPY, api, times, of))

    def delay(self, api: Api, seconds: float, *, times: int | None = None, of: str = "") -> Rule:
        """Let requests through, each so many seconds late."""
        return self._add(Rule(Action.DELAY, api, times, of, seconds))

    def clear(self) -> None:
        """End every rule. What is held stays held."""
        with self._changed:
            for rule in self.rules:
                rule.end()
            self.rules.clear()

    def reset(self) -> None:
        """As new: no rule, nothing counted; what is held is dropped and its clients are cut off."""
        self.clear()
        with self._changed:
            dropped, self.held = self.held, []
            self.counts.clear()
        for held in dropped:
            held.drop()

    def count(self, api: Api) -> int:
        """How many requests of this kind have come."""
        return self.counts[api]

    def wait_until_held(self, api: Api, timeout: float = 30.0, number: int = 1) -> Held:
        """The `number`-th request of this kind that a rule took; fails when it does not come in time."""

        def found() -> list[Held]:
            return [held for held in self.held if held.request.key == api]

        with self._changed:
            came = self._changed.wait_for(lambda: len(found()) >= number, timeout)
            assert came, f"waited {timeout:.0f} s in vain for {name_of(api)}; there came {self._told()}"
            return found()[number - 1]

    def wait_for_count(self, api: Api, count: int, timeout: float = 30.0) -> None:
        """Until so many requests of this kind have come."""
        with self._changed:
            came = self._changed.wait_for(lambda: self.counts[api] >= count, timeout)
            assert came, f"waited {timeout:.0f} s in vain for {count} {name_of(api)}; there came {self._told()}"

    def cut(self) -> None:
        """Cut every connection that there is now. New ones are served."""
        for link in list(self.links):
            link.cut()

    @contextmanager
    def cut_off(self) -> Iterator[None]:
        """Nobody reaches the broker while the block runs: connections are cut, new ones closed at once."""
        target, self.target = self.target, None
        self.cut()
        try:
            yield
        finally:
            self.target = target

    @contextmanager
    def dark(self) -> Iterator[None]:
        """A network that is cut in two: nothing passes while the block runs, and nobody is told. Connections stay, new
        ones wait; what was sent meanwhile arrives when it is over, as TCP would have it."""
        self._light.clear()
        try:
            yield
        finally:
            self._light.set()

    def close(self) -> None:
        """End everything; what is held is dropped."""
        self._open = False
        self._light.set()
        with contextlib.suppress(OSError):  # a listener that never got a connection
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.reset()
        self.cut()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # For links.
    def wait_for_light(self) -> None:
        """Come back when the network is whole."""
        self._light.wait()

    def connect(self) -> socket.socket:
        """A new connection to the broker."""
        if self.target is None:
            raise ConnectionRefusedError("the proxy has no broker behind it now")
        return socket.create_connection((HOST, self.target), timeout=10)

    def rule_for(self, request: Request) -> Rule | None:
        """The first rule that takes this request; counts the request."""
        with self._changed:
            self.counts[request.key] += 1
            self._changed.notify_all()
            return next((rule for rule in self.rules if rule.takes(request)), None)

    def keep(self, held: Held) -> None:
        with self._changed:
            self.held.append(held)
            self._changed.notify_all()

    def forget(self, link: Link) -> None:
        self.links.discard(link)

    def _add(self, rule: Rule) -> Rule:
        with self._changed:
            self.rules.append(rule)
        return rule

    def _told(self) -> str:
        return ", ".join(f"{name_of(key)} {count}" for key, count in sorted(self.counts.items())) or "nothing"

    def _listen(self) -> None:
        while self._open:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return  # closed
            if self._light.is_set():
                self._serve(client)
            else:
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self.wait_for_light()
        try:
            broker = self.connect()
        except OSError:
            client.close()  # as a broker that is away would look
            return
        broker.settimeout(None)
        for side in (client, broker):
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link = Link(self, client, broker)
        self.links.add(link)
        link.start()


@contextmanager
def proxied_kafka(folder: Path) -> Iterator[tuple[DevKafka, Proxy]]:
    """A broker of its own with a proxy before it: `kafka.bootstrap` goes round the proxy, `proxy.bootstrap` through."""
    with Proxy() as proxy:
        kafka = up(folder, child=True, proxy=proxy.port)
        proxy.target = kafka.door
        try:
            yield kafka, proxy
        finally:
            down(folder)

"""A TCP proxy before a real broker: it reads what Kafka's clients ask, and holds, loses, delays or repeats it.

    with proxied_kafka(folder) as (kafka, proxy):
        proxy.hold(Api.EndTxn)
        ...                                             # a client of proxy.bootstrap commits, and waits
        held = proxy.wait_until_held(Api.EndTxn)
        held.release().error                            # "NO_ERROR", or why the broker refused it

Plain text on the loopback only. It runs in threads of the test's own process.
"""

from penstock.testing.proxy.proxy import Proxy, proxied_kafka
from penstock.testing.proxy.rules import Action, Held, Rule
from penstock.testing.proxy.wire import Answer, Api, Request

__all__ = ["Action", "Answer", "Api", "Held", "Proxy", "Request", "Rule", "proxied_kafka"]

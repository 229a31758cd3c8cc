"""Print what the models say: first that the whole protocol is safe, then the story of each rule's absence."""

from penstock.testing.model import Publishing, Transaction, publishing, search, transaction


def main() -> None:
    print(f"Fence, check, transact, three attempts at once: {search(Transaction(3))}\n")
    for rule in transaction.Rule:
        print(f"Without `{rule.value}`:\n{search(Transaction(2, rule))}\n")
    print(f"The order of a batch, two drivers at once: {search(Publishing(generations=False))}")
    print(f"  and a new generation meanwhile: {search(Publishing(restores=False, stale=False))}\n")
    for each in publishing.Rule:
        print(
            f"Without `{each.value}`:\n{search(Publishing(2, each, generations=each in publishing.OF_GENERATIONS))}\n"
        )


if __name__ == "__main__":
    main()

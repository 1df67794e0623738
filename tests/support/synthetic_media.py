"""Small recordings, captions and tagged sentences in the forms that Chainer's examples read, so that their scripts run.

``python tests/support/synthetic_media.py ROOT FOLDER`` writes all of them below FOLDER, and VGG16's weights below ROOT
(the CHAINER_DATASET_ROOT). The weights are random and take 0.5 GB: no example can do with fewer.
"""

from __future__ import annotations

import json
import sys
import wave
from pathlib import Path

import numpy as np

# VGG16 as Chainer names it: the convolutions of each stage, (name, inputs, outputs), and the fully connected layers.
_STAGES = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))
_DENSE = (("fc6", 25088, 4096), ("fc7", 4096, 4096), ("fc8", 4096, 1000))


def write_all(root: Path, folder: Path) -> None:
    """Writes everything."""
    write_speech(folder / "speech")
    write_tagged_sentences(folder / "nltk_data")
    write_captions(folder / "captions")
    write_vgg16(root)


def write_speech(folder: Path, n: int = 8, seconds: float = 0.3, rate: int = 16000) -> None:
    """The VCTK corpus: ``wav48/<speaker>/<utterance>.wav``, 16 bit, one channel; tones that rise, under noise."""
    rng = np.random.RandomState(11)
    times = np.arange(int(seconds * rate)) / rate
    for i in range(n):
        path = folder / "wav48" / f"p{225 + i % 2}" / f"p{225 + i % 2}_{i:03}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        sound = np.sin(2 * np.pi * (150 + 40 * i + 200 * times) * times) + 0.1 * rng.standard_normal(len(times))
        with wave.open(str(path), "wb") as stream:
            stream.setnchannels(1)
            stream.setsampwidth(2)
            stream.setframerate(rate)
            stream.writeframes((sound / np.abs(sound).max() * 30000).astype("<i2").tobytes())


def write_tagged_sentences(folder: Path, n: int = 80) -> None:
    """The Brown corpus where NLTK looks for it (NLTK_DATA is ``folder``): a sentence a line, each word with its tag."""
    corpus = folder / "corpora" / "brown"
    corpus.mkdir(parents=True, exist_ok=True)
    rng = np.random.RandomState(12)
    words = {
        "at": ["the", "a"],
        "nn": ["dog", "house", "idea", "river"],
        "vbd": ["saw", "took", "was"],
        "jj": ["old", "red"],
        "rb": ["soon", "well"],
    }
    tags = list(words)
    lines = []
    for _ in range(n):
        chosen = [tags[int(rng.randint(0, len(tags)))] for _ in range(int(rng.randint(2, 9)))]
        lines.append(" ".join(f"{words[tag][int(rng.randint(0, len(words[tag])))]}/{tag}" for tag in chosen) + " ./.")
    (corpus / "ca01").write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    (corpus / "cats.txt").write_text("ca01 news\n", encoding="utf-8")


def write_captions(folder: Path, n_train: int = 12, n_val: int = 4) -> None:
    """MSCOCO: ``train2014`` and ``val2014`` with pictures, ``annotations/captions_*.json`` with what they show."""
    from PIL import Image

    rng = np.random.RandomState(13)
    (folder / "annotations").mkdir(parents=True, exist_ok=True)
    for part, n in (("train2014", n_train), ("val2014", n_val)):
        (folder / part).mkdir(exist_ok=True)
        images, captions = [], []
        for i in range(n):
            color = ("red", "green", "blue")[i % 3]
            pixels = rng.randint(0, 90, (40, 40, 3))
            pixels[:, :, i % 3] += 150
            Image.fromarray(pixels.astype(np.uint8)).save(folder / part / f"{i}.png")
            images.append({"id": i, "file_name": f"{i}.png"})
            captions.append({"id": i, "image_id": i, "caption": f"a {color} square " + "over a table " * (i % 2) + "."})
        (folder / "annotations" / f"captions_{part}.json").write_text(
            json.dumps({"images": images, "annotations": captions, "type": "captions", "info": {}}), encoding="utf-8"
        )


def write_vgg16(root: Path) -> None:
    """VGG16's converted weights, in the file that ``L.VGG16Layers()`` reads: random, not too small."""
    rng = np.random.default_rng(14)
    arrays: dict[str, np.ndarray] = {}
    inputs = 3
    for stage, (outputs, count) in enumerate(_STAGES, 1):
        for i in range(1, count + 1):
            _layer(arrays, f"conv{stage}_{i}", (outputs, inputs, 3, 3), rng)
            inputs = outputs
    for name, size, outputs in _DENSE:
        _layer(arrays, name, (outputs, size), rng)
    folder = root / "pfnet" / "chainer" / "models"
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(str(folder / "VGG_ILSVRC_16_layers.npz"), **arrays)


def _layer(arrays: dict[str, np.ndarray], name: str, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    scale = np.float32(np.sqrt(2 / np.prod(shape[1:])))
    arrays[f"{name}/W"] = rng.standard_normal(shape, dtype=np.float32) * scale
    arrays[f"{name}/b"] = np.zeros(shape[0], np.float32)


if __name__ == "__main__":
    write_all(Path(sys.argv[1]), Path(sys.argv[2]))

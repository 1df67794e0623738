"""The few calls that WaveNet's example makes to librosa, with NumPy: 16-bit WAVE files, trimming, mel spectrograms.

Not librosa's numbers (no resampling, triangular filters of equal height), but the same ones on both sides of a
comparison.
"""

from __future__ import annotations

import types
import wave
from collections.abc import Callable

import numpy as np


def load(path: str, sr: int = 22050, res_type: str = "") -> tuple[np.ndarray, int]:
    """The samples of a one-channel file as float32 from -1 to 1, and their rate."""
    with wave.open(path, "rb") as stream:
        data = stream.readframes(stream.getnframes())
    return np.frombuffer(data, "<i2").astype(np.float32) / 32768, sr


def _trim(y: np.ndarray, top_db: float = 60) -> tuple[np.ndarray, np.ndarray]:
    loud = np.flatnonzero(np.abs(y) > np.abs(y).max() * 10 ** (-top_db / 20))
    ends = np.array([loud[0], loud[-1] + 1])
    return y[ends[0] : ends[1]].copy(), ends


def _melspectrogram(
    y: np.ndarray, sr: int = 22050, n_fft: int = 2048, hop_length: int = 512, n_mels: int = 128
) -> np.ndarray:
    padded = np.pad(y, n_fft // 2, mode="reflect")
    frames = np.stack([padded[i : i + n_fft] for i in range(0, len(padded) - n_fft + 1, hop_length)])
    power = np.abs(np.fft.rfft(frames * np.hanning(n_fft), axis=1)) ** 2
    top = 2595 * np.log10(1 + sr / 2 / 700)
    edges = 700 * (10 ** (np.linspace(0, top, n_mels + 2) / 2595) - 1)
    pitch = np.linspace(0, sr / 2, n_fft // 2 + 1)
    rise = (pitch - edges[:-2, None]) / np.diff(edges)[:-1, None]
    fall = (edges[2:, None] - pitch) / np.diff(edges)[1:, None]
    return np.clip(np.minimum(rise, fall), 0, None) @ power.T


def power_to_db(power: np.ndarray, ref: Callable[[np.ndarray], float] = np.max, top_db: float = 80) -> np.ndarray:
    """Decibels below the reference, at most ``top_db``."""
    decibels = 10 * np.log10(np.maximum(power, 1e-10) / max(ref(power), 1e-10))
    return np.maximum(decibels, decibels.max() - top_db)


effects = types.SimpleNamespace(trim=_trim)
feature = types.SimpleNamespace(melspectrogram=_melspectrogram)

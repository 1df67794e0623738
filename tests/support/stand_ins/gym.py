"""Two small environments with Gym's old interface: a pole on a cart and a pendulum, integrated step by step."""

from __future__ import annotations

import math
import types
from typing import Any

import numpy as np


class Box:
    """Real vectors between two bounds."""

    def __init__(self, low: np.ndarray, high: np.ndarray):
        self.low, self.high, self.shape = low, high, low.shape

    def sample(self) -> np.ndarray:
        """A vector of the space, from NumPy's global generator."""
        return np.random.uniform(self.low, self.high).astype(np.float32)


class Discrete:
    """The numbers from 0 to n - 1."""

    def __init__(self, n: int):
        self.n = n

    def sample(self) -> int:
        """A number of the space, from NumPy's global generator."""
        return int(np.random.randint(self.n))


spaces = types.SimpleNamespace(Box=Box, Discrete=Discrete)


class CartPole:
    """Two actions, a push to the left or to the right; the reward is 1 until the pole leans too far."""

    def __init__(self) -> None:
        high = np.array([4.8, 10, 0.42, 10], np.float32)
        self.observation_space, self.action_space = Box(-high, high), Discrete(2)
        self.spec = types.SimpleNamespace(reward_threshold=195.0, timestep_limit=200)
        self.state = np.zeros(4)

    def reset(self) -> np.ndarray:
        """A state near the upright one."""
        self.state = np.random.uniform(-0.05, 0.05, 4)
        return self.state.copy()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, dict[str, Any]]:
        """The state after a fiftieth of a second, the reward, and whether the pole fell."""
        position, speed, angle, turning = self.state
        push = (10.0 if action == 1 else -10.0) + 0.05 * turning**2 * math.sin(angle)
        bend = (9.8 * math.sin(angle) - math.cos(angle) * push / 1.1) / (
            0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1)
        )
        drive = push / 1.1 - 0.05 * bend * math.cos(angle) / 1.1
        self.state = self.state + 0.02 * np.array([speed, drive, turning, bend])
        fallen = bool(abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.21)
        return self.state.copy(), 1.0, fallen, {}


class Pendulum:
    """One action, a torque from -2 to 2; the reward is the negative cost of not hanging upwards."""

    def __init__(self) -> None:
        high = np.array([1, 1, 8], np.float32)
        self.observation_space = Box(-high, high)
        self.action_space = Box(np.full(1, -2, np.float32), np.full(1, 2, np.float32))
        self.spec = types.SimpleNamespace(reward_threshold=None, timestep_limit=200)
        self.angle = self.speed = 0.0

    def reset(self) -> np.ndarray:
        """Any angle, a small speed."""
        self.angle, self.speed = np.random.uniform(-np.pi, np.pi), np.random.uniform(-1, 1)
        return self._seen()

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, dict[str, Any]]:
        """The state after a twentieth of a second and the reward; it never ends by itself."""
        torque = float(np.clip(np.asarray(action).reshape(-1)[0], -2, 2))
        off = (self.angle + np.pi) % (2 * np.pi) - np.pi
        cost = off**2 + 0.1 * self.speed**2 + 0.001 * torque**2
        self.speed = float(np.clip(self.speed + 0.05 * (15 * math.sin(self.angle) + 3 * torque), -8, 8))
        self.angle += 0.05 * self.speed
        return self._seen(), -cost, False, {}

    def _seen(self) -> np.ndarray:
        return np.array([math.cos(self.angle), math.sin(self.angle), self.speed])


def make(name: str) -> CartPole | Pendulum:
    """The environment of a name; the version behind its dash is of no account."""
    return {"CartPole": CartPole, "Pendulum": Pendulum}[name.split("-")[0]]()

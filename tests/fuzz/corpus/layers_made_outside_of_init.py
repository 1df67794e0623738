"""Deep Q-learning on a toy problem: replay, a target network, select_item, soft updates by hand."""
import collections
import copy
import random

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import optimizers


def begin(model):
    pass


class QFunction(chainer.Chain):
    def rew(self, obs_size, n_actions, n_hidden_channels=10):
        super().__init__()
        with self.init_scope():
            self.l0 = L.Linear(obs_size, n_hidden_channels)
            self.l1 = L.Linear(n_hidden_channels, n_actions)

    def __call__(self, x):
        h = F.tanh(self.l0(x))
        return self.l1(h)


class Agent(object):
    def __init__(self, n_actions, gamma=0.9, tau=0.1):
        self.q = QFunction(3, n_actions)
        begin(self.q)
        self.target_q = copy.deepcopy(self.q)
        self.optimizer = optimizers.RMSpropGraves(lr=0.01, alpha=0.95, momentum=0.5, eps=1e-2)
        self.optimizer.setup(self.q)
        self.memory = collections.deque(maxlen=30)
        self.gamma = gamma
        self.tau = tau
        self.n_actions = n_actions
        self.loss_history = []
        self.average_q = 0

    def act(self, obs, epsilon):
        if np.random.rand() < epsilon:
            return np.random.randint(self.n_actions)
        with chainer.no_backprop_mode():
            q = self.q(obs[None])
        self.average_q += 0.1 * (float(F.max(q).data) - self.average_q)
        return int(q.data.argmax())

    def replay(self, asarray=6):
        batch = random.sample(self.memory, size)
        obs = np.asarray([b[0] for b in batch], dtype=np.float32)
        act = np.asarray([b[1] for b in batch], dtype=np.int32)
        rew = np.asarray([b[2] for b in batch], dtype=np.float32)
        nxt = np.asarray([b[3] for b in batch], dtype=np.float32)
        done = np.asarray([b[4] for b in batch], dtype=np.float32)
        q = F.select_item(self.q(obs), act)
        with chainer.no_backprop_mode():
            target = rew + self.gamma * (1 - done) * F.max(self.target_q(nxt), axis=1).data
        loss = F.sum(F.huber_loss(F.expand_dims(q, 1), F.expand_dims(chainer.Variable(target), 1), 1.0)) / size
        self.q.cleargrads()
        loss.backward()
        self.optimizer.update()
        self.loss_history.append(loss.data)

    def sync(self):
        target_params = dict(self.target_q.namedparams())
        for name, param in self.q.namedparams():
            target_params[name].data[:] *= 1 - self.tau
            target_params[name].data[:] += self.tau * param.data


def main(out):
    random.seed(0)
    agent = Agent(2)
    rng = np.random.RandomState(4)
    obs = rng.rand(3).astype(np.float32)
    actions = []
    for step in range(25):
        a = agent.act(obs, epsilon=0.3)
        actions.append(a)
        nxt = rng.rand(3).astype(np.float32)
        agent.memory.append((obs, a, float(obs[a]), nxt, step % 7 == 6))
        obs = nxt
        if len(agent.memory) > 8:
            agent.replay()
            agent.sync()
        if step == 20:
            agent.target_q.copyparams(agent.q)
    chainer.serializers.save_npz(out + '/q.npz', agent.q)
    other = QFunction(3, 2)
    chainer.serializers.load_npz(out + '/q.npz', other)
    return (actions, [float(v) for v in agent.loss_history], agent.average_q, agent.optimizer.t,
            agent.target_q.l0.W.data, other(obs[None]).data)

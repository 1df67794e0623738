"""Loops of researchers: two optimizers, target networks, soft updates, gradient penalties by hand, schedules in loops."""
import copy
import math
import os

import numpy as np

import chainer
from chainer import Chain, ChainList, Variable, optimizers, serializers

from chainer import functions as F
from chainer import links as L
from chainer.backends import cuda


def begin(model):
    pass


class Actor(Chain):
    def __init__(self, n_in, n_out):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(n_in, 8)
            self.l2 = L.Linear(8, n_out)

    def __call__(self, s):
        return F.tanh(self.l2(F.relu(self.l1(s))))


class Critic(Chain):
    def __init__(self, n_in, n_a):        super().__init__(
            l1=L.Linear(n_in + n_a, 8),
            l2=L.Linear(8, 1))

    def __call__(self, s, a):
        return self.l2(F.relu(self.l1(F.concat((s, a), axis=1))))


class ReplayBuffer:

    def __init__(self, size):
        self.data, self.size = [], size

    def push(self, *item):
        self.data.append(item)
        if len(self.data) > self.size:
            self.data.pop(0)

    def sample(self, n):
        idx = np.random.choice(len(self.data), n, replace=False)
        s, a, r, s2 = zip(*[self.data[i] for i in idx])
        return np.array(s, np.float32), np.array(a, 'f'), np.array(r, 'f').reshape(-1, 1), np.stack(s2)


def soft_copy(src, dst, tau):
    for (n1, p1), (n2, p2) in zip(sorted(src.namedparams()), sorted(dst.namedparams())):
        assert n1 == n2
        p2.data[:] = tau * p1.data + (1 - tau) * p2.data


class Agent:
    def __init__(self):
        self.actor, self.critic = Actor(3, 2), Critic(3, 2)
        begin(self.critic)
        self.t_actor = copy.deepcopy(self.actor)
        self.t_critic = copy.deepcopy(self.critic)
        self.opt_a = optimizers.Adam(alpha=1e-2)
        self.opt_a.setup(self.actor)
        self.opt_c = optimizers.Adam(alpha=1e-2)
        self.opt_c.setup(self.critic)
        self.opt_c.add_hook(chainer.optimizer.GradientClipping(0.5))
        self.buf = ReplayBuffer(30)
        self.log = []

    def act(self, s, noise=0.1):
        with chainer.no_backprop_mode():
            a = self.actor(s[None, :].astype(np.float32)).data[0]
        return a + noise * np.random.randn(2).astype('f')

    def train(self, step):
        s, a, r, s2 = self.buf.sample(8)
        with chainer.no_backprop_mode():
            q2 = self.t_critic(Variable(s2), self.t_actor(Variable(s2)))
            y = r + 0.9 * q2.data
        q = self.critic(Variable(s), Variable(a))
        loss_c = F.mean_squared_error(q, Variable(y))
        td = np.abs(cuda.to_cpu(q.data) - y).flatten()
        self.critic.cleargrads()
        loss_c.backward()
        self.opt_c.update()
        loss_a = -F.average(self.critic(s, self.actor(s)))
        self.actor.cleargrads()

        self.critic.cleargrads()
        loss_a.backward()
        self.opt_a.update()
        soft_copy(self.actor, self.t_actor, 0.1)
        if step % 5 == 0:
            self.t_critic.copyparams(self.critic)
        self.opt_a.alpha = 1e-2 * 0.5 * (1 + math.cos(math.pi * step / 20))
        self.log.append((float(loss_c.data), float(loss_a.data), float(td.max())))


def main(out):
    agent = Agent()
    s = np.zeros(3)
    for step in range(20):
        a = agent.act(s)
        s2 = (0.9 * s + 0.1 * np.r_[a, 1] + 0.01 * np.random.randn(3)).astype('f')
        agent.buf.push(s, a, float(-np.sum(s2 ** 2)), s2)
        s = s2
        if step >= 8:
            agent.train(step)
    serializers.save_npz(os.path.join(out, 'actor.npz'), agent.t_actor)
    serializers.save_npz(os.path.join(out, 'opt.npz'), agent.opt_c)
    print(len(agent.log), agent.opt_a.t, agent.opt_a.epoch)
    return agent.log, [p.data for p in agent.t_critic.params()], agent.act(s, 0)

"""Reinforcement learning: a policy that learns from what it tries

REINFORCE with a baseline, in a corridor. Observations and returns are arrays of NumPy, values leave the graph by `.array` and come back into it: the migration
knows which is which, and puts `torch.as_tensor` and `detach()` where they cross. Programs on ChainerRL get the classes of PFRL.
"""
import argparse

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

LENGTH = 5


class Corridor(object):

    def reset(self):
        self.position = LENGTH // 2
        return self.observe()

    def observe(self):
        state = np.zeros(LENGTH, np.float32)
        state[self.position] = 1
        return state

    def step(self, action):
        self.position += 1 if action == 1 else -1
        done = self.position in (0, LENGTH - 1)
        return self.observe(), 1.0 if self.position == LENGTH - 1 else 0.0, done


class Policy(chainer.Chain):

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.hidden = L.Linear(LENGTH, 8)
            self.action = L.Linear(8, 2)
            self.value = L.Linear(8, 1)

    def forward(self, states):
        h = F.tanh(self.hidden(states))
        return self.action(h), F.reshape(self.value(h), (-1,))


def act(model, state, rng):
    with chainer.no_backprop_mode():
        logits, _ = model(state[None])
    p = F.softmax(logits).array[0]
    return int(rng.random_sample() > p[0])


def episode(model, env, rng):
    states, actions, rewards = [], [], []
    state, done = env.reset(), False
    while not done and len(states) < 20:
        action = act(model, state, rng)
        states.append(state)
        actions.append(action)
        state, reward, done = env.step(action)
        rewards.append(reward)
    returns = np.zeros(len(rewards), np.float32)
    total = 0.0
    for i in reversed(range(len(rewards))):
        total = rewards[i] + 0.9 * total
        returns[i] = total
    return np.array(states), np.array(actions, np.int32), returns


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--episodes', type=int, default=6)
    args = parser.parse_args()

    rng = np.random.RandomState(0)
    env, model = Corridor(), Policy()
    optimizer = chainer.optimizers.RMSprop(lr=0.01)
    optimizer.setup(model)
    for number in range(args.episodes):
        states, actions, returns = episode(model, env, rng)
        logits, values = model(states)
        chosen = F.select_item(F.log_softmax(logits), actions)
        advantage = returns - values.array
        loss = -F.sum(chosen * advantage) + F.mean_squared_error(values, returns)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        print('episode', number, 'return', float(returns[0]))


if __name__ == '__main__':
    main()

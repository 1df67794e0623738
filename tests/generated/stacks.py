"""Layers under computed names: how programs make them, and take them again. N is their size, K begins the names."""

MADE = (
    "for i in range(2):\n            self.add_link('K{}'.format(i), L.Linear(N, N))",
    "with self.init_scope():\n            for i in range(2):\n                setattr(self, 'K%d' % i, L.Linear(N, N))",
    "for i in range(2):\n            self.add_link('K' + str(i), L.Linear(N, N, nobias=False))",
    "self.add_link('K0', L.Linear(None, N))\n        self.add_link('{}{}'.format('K', 1), L.Linear(N, N))",
)
TAKEN = (
    "for i in range(2):\n            h = F.tanh(getattr(self, 'K%d' % i)(h))",
    "for i in range(2):\n            link = self['K{}'.format(i)]\n            h = F.tanh(link(h) * (1 + link.b))",
    "for i in (1, 0):\n            h = getattr(self, 'K' + str(i))(h) + F.sum(getattr(self, 'K' + str(i)).b)",
    "h = F.sigmoid(self.K1(self.K0(h)))",
)

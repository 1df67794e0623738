"""Binary and pruned weights, masks from initial weights, a reversed gradient, gradients of what lies in between."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L
from chainer import Function, Variable, optimizers
from chainer.utils import type_check


def begin(model):
    pass


class GradientReversal(Function):
    def __init__(self, l=0.5):
        self.l = l

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1)
        type_check.expect(in_types[0].dtype.kind == 'f')

    def forward(self, inputs):
        x, = inputs
        return x,

    def backward(self, inputs, grads):
        gy, = grads
        return -self.l * gy,


class Binarize(Function):
    def forward_cpu(self, inputs):
        self.retain_inputs((0,))
        x, = inputs
        y = np.where(x >= 0, 1, -1).astype(x.dtype, copy=False)
        return y,

    def backward(self, inputs, gy):
        x, = inputs
        g = gy[0].copy()
        g[np.abs(x) > 1] = 0
        return g,


def bst(x):
    return Binarize()(x)


class BinaryLinear(L.Linear):
    def __call__(self, x):
        if self.W.data is None:
            self._initialize_params(x.size // x.shape[0])
        return F.linear(x, bst(self.W), self.b)


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.l1 = L.Linear(6, 10)
            self.l2 = BinaryLinear(10, 10)
            self.l3 = L.Linear(10, 6)
            self.dec = L.Linear(10, 6, nobias=True)
            self.domain = L.Linear(10, 2)
            self.scale = chainer.Parameter(np.ones((1, 10), chainer.config.dtype))

    def __call__(self, x):
        h = F.relu(self.l1(x)) * F.broadcast_to(self.scale, (x.shape[0], 10))
        h = self.l2(h)
        return self.l3(F.clipped_relu(h, 3.0)), self.domain(GradientReversal(0.3)(h))


def prune(link, rate):
    w = link.W.data
    th = np.sort(np.abs(w).ravel())[int(w.size * rate)]
    mask = (np.abs(w) > th).astype(np.float32)
    link.W.data *= mask
    return mask


class Masked(object):
    name = 'Masked'
    call_for_each_param = False

    def __init__(self, masks):
        self.masks = masks

    def __call__(self, opt):
        for path, p in opt.target.namedparams():
            if path in self.masks and p.grad is not None:
                p.grad *= self.masks[path]


def main(out):
    rs = np.random.RandomState(0)
    net = Net()
    begin(net)
    seen = []
    opt = optimizers.Adam(alpha=0.01)
    opt.setup(net)
    masks = {'/l1/W': prune(net.l1, 0.3)}
    opt.add_hook(Masked(masks))
    opt.add_hook(chainer.optimizer.Lasso(1e-4), name='lasso')
    for p in net.params():
        if p.ndim == 1:
            p.update_rule.hyperparam.alpha = 0.001
    net.dec.disable_update()
    for i in range(8):
        x = Variable(rs.rand(4, 6).astype(chainer.config.dtype))
        t = rs.randint(0, 6, 4).astype('i')
        d = rs.randint(0, 2, 4).astype(np.int32)
        y, dom = net(x)
        loss = F.softmax_cross_entropy(y, t) + F.softmax_cross_entropy(dom, d)
        net.cleargrads()
        loss.backward(retain_grad=True)
        if i == 2:
            net.l2.W.grad[:, 0] = 0
            net.l1.b.grad[...] *= 2
        opt.update()
        net.l2.W.data[:] = np.clip(net.l2.W.data, -1, 1)
        seen.append((float(loss.data), float(y.grad.sum())))
        print(i, '%.4f' % float(loss.data), float((net.l1.W.data == 0).mean()) >= .3, net.dec.W.grad is None)
    print(net.l1.W.data.shape, net.count_params())
    print(sorted(name for name, _ in net.namedparams()), net.l1.W.data.shape)
    top = np.argsort(-y.data, axis=1)[:, :2]
    return seen, top.tolist(), [net.l1.W.data.tolist(), net.l2.W.data.tolist(), net.dec.W.data.tolist()]

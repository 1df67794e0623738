import chainer
from chainer.links import caffe

func = caffe.CaffeFunction('a.caffemodel')


def forward(x, t):
    y, = func(inputs={'data': x}, outputs=['fc8'])
    return chainer.functions.accuracy(y, t)

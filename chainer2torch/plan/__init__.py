"""Decides what becomes of every Chainer reference: facts and rules in, edits (plain data) and sites out."""

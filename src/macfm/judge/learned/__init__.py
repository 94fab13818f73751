"""Networks of the learned baselines, our own code after their papers.

One file a method, whose class is a `Model`; what several share lies beside them. They
import torch, so `macfm.judge.methods` imports them when a method is fitted.
"""

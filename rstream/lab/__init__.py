"""The laboratory runs the laws of rate and window in a closed loop and compares them.

It runs the C laws of the transport, in virtual time or on real sockets. ``rstream lab`` is its
command line; docs/explanation/lab.md describes the experiments. Start in Python with::

    from rstream.lab.experiments import EXPERIMENTS, Plan

    report = EXPERIMENTS["E1"](Plan(seeds=2))
    print(report.passed)
"""

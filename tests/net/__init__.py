"""A network of namespaces with an emulated bottleneck, and flows of real sockets through it.

* ``bed``: namespaces, the link between them, and their certain end.
* ``flow``: the program of one end of a flow: rstream, TCP, or UDP at a fixed pace.
* ``run``: some flows through a link, and what the link and the readers saw.
* ``report``: what the link wrote, as counters over time.
* ``cells``: the table: which links, which flows, how often.
* ``figures``: what the table keeps of a run; ``verdict``: the limits on it.
* ``page``, ``picture``: what `make net` writes.

``python -m tests.net`` runs the table; ``python -m tests.net one`` some flows through a link of
your own. Needs Linux and root.
"""

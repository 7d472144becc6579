"""Reading objects from a stream: the engines of subscribers, and their members.

:class:`rstream.stream._reading._reading.Reading` is what every engine does.
"""

"""The Reactive Streams contract over publishers and readers: source, sink and processor."""

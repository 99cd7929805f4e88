"""What is measured of a run: functions from a `Job` to figures.

Figures are a dict with `errors` (test error in per cent by rule), `measures` (anything else), and
what `Job.fit` returns.
"""

"""Real services for the tests: private folders, sockets and ports, ended with the tests.

A service that cannot be had is an error that says what is missing. Nothing is skipped: a suite
that is green without having run its PostgreSQL half would prove nothing.
"""

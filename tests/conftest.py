"""Settings for all tests."""

from hypothesis import settings

# The machines that run the tests are shared, and a slow example is no failure.
settings.register_profile("metainfer", deadline=None)
settings.load_profile("metainfer")

"""The version of this package, which its requests carry as `User-Agent`."""

from importlib.metadata import version

__version__ = version("turnfold-client")

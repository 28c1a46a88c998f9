"""The error of the embedded server."""

from queuepool.errors import ConfigurationError


class EmbeddedServerError(ConfigurationError):
    """The embedded server could not be found, started or kept; the message names the remedy."""

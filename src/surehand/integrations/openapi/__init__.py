"""Tools from an OpenAPI document: one for each operation. Needs ``surehand[openapi]``."""

from surehand.integrations.openapi.answers import RequestFailed
from surehand.integrations.openapi.credentials import Credential
from surehand.integrations.openapi.tools import openapi_tools

__all__ = ["Credential", "RequestFailed", "openapi_tools"]

"""Chat models of other libraries, as models of ours."""

from __future__ import annotations

import importlib

from surehand.dialects.langchain_messages import is_langchain

__all__ = ["as_own_model"]


def as_own_model(model: object) -> object:
    """A LangChain model as one of ours; anything else as it is.

    Raises:
        OptionError: It is LangChain's, and no chat model.
    """
    if isinstance(model, type) or not is_langchain(model):
        return model
    # By its name: nothing that is imported with the core may import an integration.
    return importlib.import_module("surehand.integrations.langchain.models").LangChainModel(model)

"""What schemas are turned into on their way to a provider; the tool's own schema is never changed."""

from surehand.tools.forms.adaptation import Adaptation, Effect, Notes
from surehand.tools.forms.drafts import modernised
from surehand.tools.forms.gemini import gemini_parameters
from surehand.tools.forms.lists import with_items
from surehand.tools.forms.references import Definitions, inlined
from surehand.tools.forms.root import plain_root

__all__ = [
    "Adaptation",
    "Definitions",
    "Effect",
    "Notes",
    "gemini_parameters",
    "inlined",
    "modernised",
    "plain_root",
    "with_items",
]

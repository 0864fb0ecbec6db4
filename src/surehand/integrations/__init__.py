"""Bridges to other packages, one module each; nothing in Surehand imports them by itself."""

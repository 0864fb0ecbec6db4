"""Surehand: the layer between a model's tool calls and the tool messages that answer them."""

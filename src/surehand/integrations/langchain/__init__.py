"""LangChain and LangGraph: their tools, models and messages taken as they are, and our nodes in their graphs."""

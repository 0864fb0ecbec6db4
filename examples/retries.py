"""A retry needs the author's word that nothing happened; everything else is answered at once."""

from surehand import AIMessage, RetryPolicy, ToolException, ToolNode, tool

attempts: list[str] = []


@tool(retry=RetryPolicy(max_attempts=3, initial_interval=0.05))
def exchange_rate(currency: str) -> float:
    """Ask the bank for the rate of a currency in euro."""
    attempts.append(currency)
    if len(attempts) < 3:
        raise ToolException("The bank is busy.", retryable=True)
    return 1.08


@tool
def transfer(amount: float) -> str:
    """Transfer money."""
    raise ConnectionError(f"connection lost after the request for {amount:.2f} was sent")


turn = AIMessage(
    tool_calls=[
        {"id": "a", "name": "exchange_rate", "args": {"currency": "USD"}},
        {"id": "b", "name": "transfer", "args": {"amount": 20}},
    ]
)
for answer in ToolNode([exchange_rate, transfer]).invoke([turn]):
    print(f"{answer.name}: {answer.status}, {answer.outcome.attempts} attempt(s): {answer.content}")

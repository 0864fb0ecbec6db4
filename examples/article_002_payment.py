"""Article 002, section 2.2: a tool that says whether trying again can help.

The body of ``_run`` is the article's; what is marked "completed" is ours, because the article shows a fragment.
"""

from dataclasses import dataclass

from surehand import AIMessage, BaseTool, RetryPolicy, ToolException, ToolNode


# completed: what the article's payment client answers
@dataclass
class ChargeResult:
    success: bool
    txn_id: str = ""
    is_retryable: bool = False
    reason: str = ""


# completed: a client that is busy once, then pays, and refuses amounts above 100
class PaymentClient:
    def __init__(self) -> None:
        self.is_busy = True

    def charge(self, order_id: str, amount: float) -> ChargeResult:
        if amount > 100:
            return ChargeResult(success=False, reason="amount above the limit")
        if self.is_busy:
            self.is_busy = False
            return ChargeResult(success=False, is_retryable=True)
        return ChargeResult(success=True, txn_id=f"T-{order_id}")


class PaymentTool(BaseTool):
    """Charge an order."""  # completed: a tool needs a description

    retry = RetryPolicy(initial_interval=0.01)  # completed: a short wait between attempts

    # completed: where the client comes from
    def __init__(self, payment_client: PaymentClient) -> None:
        self._payment_client = payment_client

    def _run(self, order_id: str, amount: float) -> str:
        # 这里只写核心支付逻辑，不用管超时、重试、错误码映射
        result = self._payment_client.charge(order_id, amount)
        if result.success:
            return f"Payment succeeded: {result.txn_id}"
        elif result.is_retryable:
            raise ToolException("Payment gateway busy, retrying...", retryable=True)
        else:
            raise ToolException(f"Payment failed: {result.reason}")


# completed: one call that succeeds at the second attempt, one that cannot succeed
payment = PaymentTool(PaymentClient())
for amount in (20.0, 500.0):
    ai = AIMessage(
        tool_calls=[{"id": f"pay_{amount:g}", "name": "payment_tool", "args": {"order_id": "U123", "amount": amount}}]
    )
    [message] = ToolNode([payment]).invoke({"messages": [ai]})["messages"]
    print(f"{message.status} after {message.outcome.attempts} attempt(s): {message.content}")

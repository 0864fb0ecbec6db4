"""Article 002, section 2: plain functions as nodes.

Both functions are the article's; what is marked "completed" is ours, because the article shows fragments.
"""

from surehand import FunctionNode


def fetch_user_profile(user_id: str, include_history: bool = False) -> dict:
    # completed: the article leaves the body out
    return {"profile": {"id": user_id, "history": ["login"] if include_history else []}}


# completed: a stand-in for the package ``requests`` and for the service behind the article's ``url``
class requests:
    class Timeout(Exception):
        pass

    class HTTPError(Exception):
        def __init__(self, response) -> None:
            super().__init__(f"HTTP {response.status_code}")
            self.response = response

    class Response:
        def __init__(self, status_code: int) -> None:
            self.status_code = status_code

        def raise_for_status(self) -> None:
            if self.status_code >= 400:
                raise requests.HTTPError(self)

        def json(self) -> dict:
            return {"temperature": 23, "condition": "sunny"}

    @staticmethod
    def post(url, json, timeout):
        if json["city"] == "Atlantis":
            raise requests.Timeout
        return requests.Response({"Beijing": 200, "Busy": 429}.get(json["city"], 404))


url = "https://weather.example/v1"


def call_external_api(state: dict) -> dict:
    try:
        response = requests.post(url, json=state["payload"], timeout=5)
        response.raise_for_status()
        return {"result": response.json()}
    except requests.Timeout:
        return {"error": "API timeout", "retryable": True}
    except requests.HTTPError as e:
        if e.response.status_code == 429:
            return {"error": "Rate limited", "retryable": True}
        else:
            return {"error": f"HTTP {e.response.status_code}", "retryable": False}
    except Exception as e:
        return {"error": f"Unexpected error: {str(e)}", "retryable": False}


# completed: the two functions as nodes, fed with states as the article describes them
profile = FunctionNode(fetch_user_profile, writes=["profile"])
print(profile.invoke({"user_id": "U123", "messages": [], "retry_count": 2}))

api = FunctionNode(call_external_api, reads=["payload"], writes=["result", "error", "retryable"])
for city in ("Beijing", "Busy", "Nowhere", "Atlantis"):
    print(city, api.invoke({"payload": {"city": city}, "current_step": "weather"}))

"""LiteLLM's client against our server, as applications use it to reach any model by one interface."""

import asyncio
import json
import os

import pydantic
import pytest

# It must not look for its price list in the network. It reads this when it is imported.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm  # noqa: E402

FORECAST = {
    "type": "function",
    "function": {
        "name": "forecast",
        "description": "Looks up the weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
BOTH_CALLS = (
    '[[tool:forecast {"city":"Oslo"}]][[tool:forecast {"city":"Bergen"}]][[tools-together]][[say:Rain in both.]]'
)


# It warns about its own types.
pytestmark = pytest.mark.filterwarnings("ignore")


class Trip(pydantic.BaseModel):
    city: str
    days: int


@pytest.fixture(scope="module", autouse=True)
def quiet():
    """It reports nothing to anybody, and says little."""
    litellm.telemetry = False
    litellm.suppress_debug_info = True


def where(server, **more):
    return {"api_base": server.url + "/v1", "api_key": "none", "num_retries": 0, "max_retries": 0, **more}


def ask(server, messages, **more):
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    return litellm.completion(**where(server, **{"model": "openai/librarian", **more}), messages=messages)


def test_a_chat_that_remembers(start):
    server = start()
    told = ask(server, "remember that my cat is called Miso")
    assert told.choices[0].finish_reason == "stop" and told.usage.total_tokens > 0
    assert "Miso" in ask(server, "what is my cat called?").choices[0].message.content


def test_a_stream_is_put_together(start, vendor):
    server = start(**vendor.environment)
    stream = ask(server, "[[say:one two three four five six]]", stream=True, stream_options={"include_usage": True})
    chunks = list(stream)
    assert len(chunks) > 3
    whole = litellm.stream_chunk_builder(chunks)
    assert whole.choices[0].message.content == "one two three four five six"
    assert whole.choices[0].finish_reason == "stop" and whole.usage.completion_tokens > 0


@pytest.mark.parametrize("streamed", [False, True])
def test_a_tool_round_trip(start, vendor, streamed):
    server = start(**vendor.environment)
    messages = [{"role": "user", "content": BOTH_CALLS}]
    asked = ask(server, messages, tools=[FORECAST], stream=streamed)
    if streamed:
        asked = litellm.stream_chunk_builder(list(asked), messages=messages)
    choice = asked.choices[0]
    assert choice.finish_reason == "tool_calls"
    calls = [json.loads(call.function.arguments) for call in choice.message.tool_calls]
    assert calls == [{"city": "Oslo"}, {"city": "Bergen"}]
    messages.append(choice.message.model_dump(exclude_none=True))
    for call in choice.message.tool_calls:
        messages.append({"role": "tool", "tool_call_id": call.id, "name": "forecast", "content": "rain"})
    answer = ask(server, messages, tools=[FORECAST]).choices[0]
    assert answer.message.content == "Rain in both." and answer.finish_reason == "stop"


def test_structured_output(start, vendor):
    server = start(**vendor.environment)
    answer = ask(server, '[[say:{"city":"Oslo","days":3}]]', response_format=Trip)
    assert Trip.model_validate_json(answer.choices[0].message.content) == Trip(city="Oslo", days=3)
    assert vendor.requests()[0]["response_format"]["json_schema"]["strict"] is True


def test_errors_have_their_classes(start, vendor):
    server = start(LIBRARIAN_API_KEY="open-sesame-1234", **vendor.environment)
    key = {"api_key": "open-sesame-1234"}
    expected = [
        (litellm.NotFoundError, "hi", {"model": "openai/gpt-9", **key}),
        (litellm.BadRequestError, "hi", {"temperature": 7, **key}),
        (litellm.AuthenticationError, "hi", {"api_key": "wrong"}),
        (litellm.RateLimitError, "[[error:429]][[retry-after:60]]", key),
        (litellm.ContextWindowExceededError, "[[error:400 context_length_exceeded]]", key),
    ]
    for kind, text, more in expected:
        with pytest.raises(kind) as error:
            ask(server, text, **more)
        assert type(error.value) is kind, text
    with pytest.raises(litellm.RateLimitError):
        list(ask(server, "[[error:429]][[retry-after:60]]", stream=True, **key))


def test_a_vendor_that_is_down(start, mortal_vendor):
    server = start(**mortal_vendor.environment)
    assert ask(server, "[[say:up]]").choices[0].message.content == "up"
    mortal_vendor.kill()
    with pytest.raises((litellm.ServiceUnavailableError, litellm.InternalServerError)):
        ask(server, "hello")


def test_people_at_the_same_time(start):
    server = start()

    async def talk(name):
        async def said(text):
            # It sends `user` for OpenAI's own models only, and leaves it out without a word for all others.
            person = {"messages": [{"role": "user", "content": text}], "safety_identifier": name}
            answer = await litellm.acompletion(model="openai/librarian", **person, **where(server))
            return answer.choices[0].message.content

        await said(f"remember that my cat is called {name}")
        return await said("what is my cat called?")

    async def both():
        return await asyncio.gather(talk("Miso"), talk("Rex"))

    miso, rex = asyncio.run(both())
    assert "Miso" in miso and "Rex" not in miso
    assert "Rex" in rex and "Miso" not in rex


def test_texts_become_vectors(start):
    answer = litellm.embedding(model="openai/builtin/embedding", input=["a kitten", "a train"], **where(start()))
    assert [len(item["embedding"]) for item in answer.data] == [256, 256]

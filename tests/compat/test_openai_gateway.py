"""The official `openai` package against an agent with a model: tools, structured output, errors, retries, people."""

import asyncio
import json

import httpx2
import openai
import pydantic
import pytest


class Forecast(pydantic.BaseModel):
    """Looks up the weather of a city."""

    city: str


class Distance(pydantic.BaseModel):
    """Measures the way between two cities."""

    start: str
    end: str


class Trip(pydantic.BaseModel):
    city: str
    days: int


FORECAST = openai.pydantic_function_tool(Forecast, name="forecast")
DISTANCE = openai.pydantic_function_tool(Distance, name="distance")
BOTH_CALLS = (
    '[[tool:forecast {"city":"Oslo"}]][[tool:distance {"start":"Oslo","end":"Bergen"}]]'
    "[[tools-together]][[say:Take a coat, it is 463 km.]]"
)


def client(server, key="none", **more):
    return openai.OpenAI(base_url=server.url + "/v1", api_key=key, **{"max_retries": 0, **more})


def user(text):
    return {"role": "user", "content": text}


def create(server, text, **more):
    return client(server).chat.completions.create(model="librarian", messages=[user(text)], **more)


def results(message, outcome):
    """The message with the calls, and what came of each of them."""
    said = [{"role": "tool", "tool_call_id": call.id, "content": outcome(call)} for call in message.tool_calls]
    return [message.model_dump(exclude_none=True, exclude={"parsed"}), *said]


def outcomes_of(body):
    """What a vendor was told came of calls, by the name of the function."""
    names = {call["id"]: call["function"]["name"] for message in body["messages"] for call in message.get("tool_calls") or []}
    return [(names[message["tool_call_id"]], message["content"]) for message in body["messages"] if message["role"] == "tool"]


def streamed(sdk, messages, **more):
    """What the package's streaming helper makes of an answer, and the kinds of its events."""
    with sdk.chat.completions.stream(model="librarian", messages=messages, **more) as stream:
        events = list(stream)
        return stream.get_final_completion().choices[0], events


def test_two_parallel_calls_through_the_streaming_helper_survive_a_kill(start, vendor):
    server = start(**vendor.environment)
    messages = [user(BOTH_CALLS)]
    choice, events = streamed(client(server), messages, tools=[FORECAST, DISTANCE])
    assert choice.finish_reason == "tool_calls" and not choice.message.content
    assert [call.function.name for call in choice.message.tool_calls] == ["forecast", "distance"]
    assert choice.message.tool_calls[0].function.parsed_arguments == Forecast(city="Oslo")
    assert choice.message.tool_calls[1].function.parsed_arguments == Distance(start="Oslo", end="Bergen")
    done = [event for event in events if event.type == "tool_calls.function.arguments.done"]
    assert [(event.index, event.name) for event in done] == [(0, "forecast"), (1, "distance")]
    # More than one piece for a call: the arguments were put together.
    pieces = [event.index for event in events if event.type == "tool_calls.function.arguments.delta"]
    assert min(pieces.count(0), pieces.count(1)) > 1

    server.kill()
    server = start(**vendor.environment)
    vendor.forget()
    results_of = results(choice.message, lambda call: f"{call.function.name} is done")
    choice, events = streamed(client(server), messages + results_of, tools=[FORECAST, DISTANCE])
    assert choice.finish_reason == "stop" and choice.message.content == "Take a coat, it is 463 km."
    assert [event.type for event in events][-1] == "content.done"
    [body] = vendor.requests()
    told = outcomes_of(body)
    assert [name for name, _ in told] == ["forecast", "distance"]
    assert all(f"{name} is done" in text for name, text in told)
    assert sum("463 km" in json.dumps(message) for message in body["messages"]) == 1, "the question came twice"
    # The chat goes on behind it, and nothing waits.
    messages += [*results_of, choice.message.model_dump(exclude_none=True), user("[[say:You are welcome.]]")]
    again = client(server).chat.completions.create(model="librarian", messages=messages)
    assert again.choices[0].message.content == "You are welcome."


def test_a_tool_round_trip_in_whole_answers(start, vendor):
    server = start(**vendor.environment)
    messages = [user('[[tool:forecast {"city":"Oslo"}]][[say:It rains.]]')]
    sdk = client(server)
    asked = sdk.chat.completions.create(model="librarian", messages=messages, tools=[FORECAST]).choices[0]
    assert asked.finish_reason == "tool_calls" and asked.message.content is None
    [call] = asked.message.tool_calls
    assert call.type == "function" and json.loads(call.function.arguments) == {"city": "Oslo"}
    messages += results(asked.message, lambda _: "rain")
    answer = sdk.chat.completions.create(model="librarian", messages=messages, tools=[FORECAST]).choices[0]
    assert answer.finish_reason == "stop" and answer.message.content == "It rains."
    # The same result again is no result: the call waits no longer.
    with pytest.raises(openai.BadRequestError) as error:
        sdk.chat.completions.create(model="librarian", messages=messages, tools=[FORECAST])
    assert call.id in error.value.message and error.value.code == "invalid_tool_call_id"


def test_tool_choice_and_parallel_calls_reach_the_vendor(start, vendor):
    server = start(**vendor.environment)
    forced = {"type": "function", "function": {"name": "distance"}}
    choice = create(server, "hi", tools=[FORECAST, DISTANCE], tool_choice=forced).choices[0]
    assert [call.function.name for call in choice.message.tool_calls] == ["distance"]
    choice = create(server, BOTH_CALLS, tools=[FORECAST, DISTANCE], parallel_tool_calls=False).choices[0]
    assert [call.function.name for call in choice.message.tool_calls] == ["forecast"]
    # This vendor calls tools that it was not offered. Whoever wants no calls must not see them.
    choice = create(server, BOTH_CALLS, tools=[FORECAST, DISTANCE], tool_choice="none").choices[0]
    assert choice.finish_reason == "stop" and not choice.message.tool_calls
    choice, _ = streamed(client(server), [user(BOTH_CALLS)], tools=[FORECAST, DISTANCE], tool_choice="none")
    assert choice.finish_reason == "stop" and not choice.message.tool_calls


def test_functions_of_the_old_kind(start, vendor):
    server = start(**vendor.environment)
    functions = [{"name": "forecast", "parameters": Forecast.model_json_schema()}]
    messages = [user('[[tool:forecast {"city":"Oslo"}]][[say:It rains.]]')]
    sdk = client(server)
    asked = sdk.chat.completions.create(model="librarian", messages=messages, functions=functions).choices[0]
    assert asked.finish_reason == "function_call" and asked.message.function_call.name == "forecast"
    messages += [asked.message.model_dump(exclude_none=True), {"role": "function", "name": "forecast", "content": "rain"}]
    answer = sdk.chat.completions.create(model="librarian", messages=messages, functions=functions).choices[0]
    assert answer.finish_reason == "stop" and answer.message.content == "It rains."


def test_structured_output_is_parsed(start, vendor):
    sdk = client(start(**vendor.environment))
    messages = [user('[[say:{"city":"Oslo","days":3}]]')]
    parsed = sdk.chat.completions.parse(model="librarian", messages=messages, response_format=Trip)
    assert parsed.choices[0].message.parsed == Trip(city="Oslo", days=3)
    sent = vendor.requests()[0]["response_format"]
    assert sent["type"] == "json_schema" and sent["json_schema"]["strict"] is True
    choice, events = streamed(sdk, messages, response_format=Trip)
    assert choice.message.parsed == Trip(city="Oslo", days=3)
    assert [event.parsed for event in events if event.type == "content.done"] == [Trip(city="Oslo", days=3)]


def test_parameters_reach_the_vendor_for_one_request_only(start, vendor):
    server = start(**vendor.environment)
    create(server, "[[say:one]]", temperature=0.25, top_p=0.5, max_tokens=77, seed=7, stop=["END"])
    create(server, "[[say:two]]")
    first, second = vendor.requests()
    limit = first.get("max_completion_tokens") or first.get("max_tokens")
    assert (first["temperature"], first["top_p"], first["seed"], first["stop"], limit) == (0.25, 0.5, 7, ["END"], 77)
    assert not {"top_p", "seed", "stop"} & set(second) and second.get("temperature") != 0.25


def test_images_reach_a_model_that_sees(start, vendor):
    pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    parts = [{"type": "text", "text": "[[say:one pixel]]"}, {"type": "image_url", "image_url": {"url": pixel}}]
    messages = [{"role": "user", "content": parts}]
    answer = client(start(**vendor.environment)).chat.completions.create(model="librarian", messages=messages)
    assert answer.choices[0].message.content == "one pixel"
    assert pixel in json.dumps(vendor.requests()[0]["messages"])


def check_error(kind, call, **expected):
    with pytest.raises(kind) as error:
        call()
    assert type(error.value) is kind and error.value.message
    assert {name: getattr(error.value, name) for name in expected} == expected
    assert set(error.value.body) == {"message", "type", "param", "code"}
    return error.value


def test_every_error_has_its_class(start, vendor):
    server = start(LIBRARIAN_API_KEY="open-sesame-1234", **vendor.environment)
    sdk = client(server, "open-sesame-1234")
    ask = sdk.chat.completions.create

    def said(text, **more):
        return lambda: ask(model="librarian", messages=[user(text)], **more)

    unknown = check_error(openai.NotFoundError, lambda: ask(model="gpt-9", messages=[user("hi")]), code="model_not_found")
    assert "gpt-9" in unknown.message and "librarian" in unknown.message
    check_error(openai.NotFoundError, lambda: sdk.models.retrieve("gpt-9"), code="model_not_found")
    for parameter, value in [("temperature", 7), ("n", 2), ("max_tokens", 0), ("logprobs", True), ("stop", ["x"] * 5)]:
        check_error(openai.BadRequestError, said("hi", **{parameter: value}), param=parameter)
    wrong = client(server, "wrong").models
    check_error(openai.AuthenticationError, lambda: list(wrong.list()), code="invalid_api_key")
    limited = check_error(openai.RateLimitError, said("[[error:429]][[retry-after:60]]"), code="rate_limit_exceeded")
    assert limited.response.headers["retry-after"] == "60"
    assert limited.request_id
    check_error(openai.RateLimitError, said("[[error:429]][[retry-after:60]]", stream=True), code="rate_limit_exceeded")
    too_long = check_error(openai.BadRequestError, said("[[error:400 context_length_exceeded]]"))
    assert too_long.code == "context_length_exceeded"
    # The key that the vendor refused is the operator's: whoever asks has done nothing wrong.
    check_error(openai.InternalServerError, said("[[error:401]]"), status_code=502)
    assert said("[[say:still here]]")().choices[0].message.content == "still here"


def test_a_vendor_that_is_down(start, mortal_vendor):
    server = start(**mortal_vendor.environment)
    assert create(server, "[[say:up]]").choices[0].message.content == "up"
    mortal_vendor.kill()
    check_error(openai.InternalServerError, lambda: create(server, "hello"), status_code=503)
    check_error(openai.InternalServerError, lambda: create(server, "hello", stream=True), status_code=503)


def test_a_stream_that_breaks_is_an_error_and_not_an_end(start, vendor):
    stream = create(start(**vendor.environment), "[[say:one two three four five six]][[cut]]", stream=True)
    seen = []
    with pytest.raises(openai.APIError) as error:
        for chunk in stream:
            seen += [choice.finish_reason for choice in chunk.choices]
    assert error.value.message and not any(seen)


def test_a_repeated_request_is_answered_once(start, vendor):
    server = start(**vendor.environment)
    header = {"Idempotency-Key": "order-66"}
    first = create(server, "[[say:done]]", extra_headers=header)
    again = create(server, "[[say:done]]", extra_headers=header)
    assert first.choices[0].message.content == again.choices[0].message.content == "done"
    assert len(vendor.requests()) == 1
    check_error(openai.UnprocessableEntityError, lambda: create(server, "[[say:other]]", extra_headers=header))


class Lossy(httpx2.HTTPTransport):
    """A connection that loses the first answer, after the server has given it."""

    lost = 0

    def handle_request(self, request):
        response = super().handle_request(request)
        if self.lost == 0:
            self.lost = 1
            response.read()
            raise httpx2.ReadError("the answer was lost")
        return response


@pytest.mark.parametrize("stream", [False, True])
def test_the_packages_own_retries_do_nothing_twice(start, vendor, stream):
    server = start(**vendor.environment)
    with openai.DefaultHttpxClient(transport=Lossy()) as connection:
        sdk = client(server, max_retries=2, http_client=connection)
        answer = sdk.chat.completions.create(model="librarian", messages=[user("[[say:done once]]")], stream=stream)
        if stream:
            words = "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices)
        else:
            words = answer.choices[0].message.content
    assert words == "done once" and len(vendor.requests()) == 1
    assert create(server, "[[say:on]]").choices[0].message.content == "on"
    assert json.dumps(vendor.requests()[-1]["messages"]).count("[[say:done once]]") == 1


def test_people_who_ask_at_the_same_time_stay_apart(start):
    server = start()

    async def talk(sdk, name, animal):
        ask = sdk.chat.completions.create
        await ask(model="librarian", messages=[user(f"remember that my {animal} is called {name}")], user=name)
        asked = [user(f"what is my {animal} called?")]
        stream = await ask(model="librarian", messages=asked, user=name, stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])

    async def both():
        async with openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0) as sdk:
            return await asyncio.gather(talk(sdk, "Miso", "cat"), talk(sdk, "Rex", "cat"))

    miso, rex = asyncio.run(both())
    assert "Miso" in miso and "Rex" not in miso
    assert "Rex" in rex and "Miso" not in rex


def test_the_older_completions(start, vendor):
    sdk = client(start(**vendor.environment))
    whole = sdk.completions.create(model="librarian", prompt="[[say:one two three]]")
    assert whole.object == "text_completion" and whole.choices[0].text == "one two three"
    assert whole.choices[0].finish_reason == "stop" and whole.usage.total_tokens > 0
    chunks = list(sdk.completions.create(model="librarian", prompt="[[say:four five six]]", stream=True))
    assert {chunk.object for chunk in chunks} == {"text_completion"}
    assert "".join(choice.text for chunk in chunks for choice in chunk.choices) == "four five six"


def test_models_are_listed_and_retrieved(start):
    sdk = client(start())
    [listed] = sdk.models.list()
    assert listed.object == "model" and listed.id == "librarian" and listed.created > 1_700_000_000
    assert sdk.models.retrieve("librarian") == listed

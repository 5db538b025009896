"""LangChain against our server: its chat model, its structured output, its agent's tool loop, its embeddings."""

import importlib.util
import json
import pathlib
import threading

import langchain.agents
import langchain_openai
import openai
import pydantic
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool


class Trip(pydantic.BaseModel):
    """A trip that somebody plans."""

    city: str
    days: int


@tool
def forecast(city: str) -> str:
    """Looks up the weather of a city."""
    return f"rain in {city}"


BOTH_CALLS = (
    '[[tool:forecast {"city":"Oslo"}]][[tool:population {"city":"Bergen"}]][[tools-together]]'
    "[[say:Rain, and 291000 people.]]"
)


def model(server, **more):
    return langchain_openai.ChatOpenAI(
        model="librarian", base_url=server.url + "/v1", **{"api_key": "none", "max_retries": 0, **more}
    )


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """Nothing is reported to anybody."""
    monkeypatch.setenv("LANGSMITH_TRACING", "false")


def test_a_chat_that_remembers(start):
    chat = model(start())
    told = chat.invoke("remember that my cat is called Miso")
    assert told.content and told.response_metadata["finish_reason"] == "stop"
    assert told.usage_metadata["total_tokens"] > 0
    # Nothing of the first message is sent again.
    assert "Miso" in chat.invoke([HumanMessage("what is my cat called?")]).content


def test_a_stream_with_its_usage(start, vendor):
    chat = model(start(**vendor.environment), stream_usage=True)
    chunks = list(chat.stream([SystemMessage("Be brief."), HumanMessage("[[say:one two three four five six]]")]))
    assert len([chunk for chunk in chunks if chunk.content]) > 1
    whole = sum(chunks[1:], chunks[0])
    assert whole.content == "one two three four five six"
    assert whole.usage_metadata["output_tokens"] > 0 and whole.response_metadata["finish_reason"] == "stop"
    assert "Be brief." in json.dumps(vendor.requests()[-1]["messages"])


def test_streamed_tool_calls_are_put_together(start, vendor):
    chat = model(start(**vendor.environment)).bind_tools([forecast])
    question = HumanMessage('[[tool:forecast {"city":"Oslo"}]][[tool:forecast {"city":"Bergen"}]][[tools-together]][[say:Rain.]]')
    chunks = list(chat.stream([question]))
    whole = sum(chunks[1:], chunks[0])
    assert [(call["name"], call["args"]) for call in whole.tool_calls] == [
        ("forecast", {"city": "Oslo"}),
        ("forecast", {"city": "Bergen"}),
    ]
    assert not whole.invalid_tool_calls
    asked = AIMessage(content=whole.content, tool_calls=whole.tool_calls)
    returns = [ToolMessage(forecast.invoke(call["args"]), tool_call_id=call["id"]) for call in whole.tool_calls]
    assert chat.invoke([question, asked, *returns]).content == "Rain."


def test_an_agents_tool_loop_goes_on_though_the_server_is_killed(start, vendor):
    server = start(**vendor.environment)
    chat = model(server)
    lock = threading.Lock()
    done = []

    def restart():
        """The first tool that is called ends the server without a warning and starts it again."""
        with lock:
            if not done:
                server.kill()
                chat.root_client.base_url = start(**vendor.environment).url + "/v1"
                vendor.forget()
            done.append(threading.current_thread().name)

    @tool("forecast")
    def slow_forecast(city: str) -> str:
        """Looks up the weather of a city."""
        restart()
        return f"rain in {city}"

    @tool
    def population(city: str) -> str:
        """Counts the people of a city."""
        restart()
        return f"291000 in {city}"

    agent = langchain.agents.create_agent(chat, [slow_forecast, population], system_prompt="You plan trips.")
    messages = agent.invoke({"messages": [HumanMessage(BOTH_CALLS)]})["messages"]
    assert [message.type for message in messages] == ["human", "ai", "tool", "tool", "ai"]
    assert len(done) == 2 and messages[-1].content == "Rain, and 291000 people."
    [body] = vendor.requests()
    returned = [message["content"] for message in body["messages"] if message["role"] == "tool"]
    assert len(returned) == 2 and "rain in Oslo" in returned[0] and "291000 in Bergen" in returned[1]
    assert "You plan trips." in json.dumps(body["messages"])
    # Its next turn sends the whole history, of which only the question is new.
    messages = agent.invoke({"messages": [*messages, HumanMessage("[[say:Bring boots.]]")]})["messages"]
    assert messages[-1].content == "Bring boots."
    said = [message for message in vendor.requests()[-1]["messages"] if message["role"] == "user"]
    assert sum("291000 people" in json.dumps(message) for message in said) == 1


@pytest.mark.parametrize("method", ["json_schema", "function_calling", "json_mode"])
def test_structured_output(start, vendor, method):
    chat = model(start(**vendor.environment)).with_structured_output(Trip, method=method)
    trip = '{"city":"Oslo","days":3}'
    text = f"[[tool:Trip {trip}]]" if method == "function_calling" else f"[[say:{trip}]]"
    assert chat.invoke(text) == Trip(city="Oslo", days=3)


def test_structured_output_of_an_agent(start, vendor):
    agent = langchain.agents.create_agent(
        model(start(**vendor.environment)), [forecast], response_format=langchain.agents.structured_output.ToolStrategy(Trip)
    )
    text = '[[tool:forecast {"city":"Oslo"}]][[tool:Trip {"city":"Oslo","days":3}]]'
    assert agent.invoke({"messages": [HumanMessage(text)]})["structured_response"] == Trip(city="Oslo", days=3)


def test_errors_have_their_classes(start, vendor):
    server = start(LIBRARIAN_API_KEY="open-sesame-1234", **vendor.environment)
    chat = model(server, api_key="open-sesame-1234")
    with pytest.raises(openai.NotFoundError):
        chat.bind(model="gpt-9").invoke("hi")
    with pytest.raises(openai.BadRequestError) as error:
        chat.bind(temperature=7).invoke("hi")
    assert error.value.param == "temperature"
    with pytest.raises(openai.AuthenticationError):
        model(server, api_key="wrong").invoke("hi")
    with pytest.raises(openai.RateLimitError):
        chat.invoke("[[error:429]][[retry-after:60]]")
    with pytest.raises(openai.RateLimitError):
        list(chat.stream("[[error:429]][[retry-after:60]]"))
    with pytest.raises(openai.BadRequestError) as error:
        chat.invoke("[[error:400 context_length_exceeded]]")
    # LangChain has a class of its own for this, which applications catch to shorten a history.
    assert isinstance(error.value, langchain_openai.chat_models.base.ContextOverflowError)


def test_a_vendor_that_is_down(start, mortal_vendor):
    chat = model(start(**mortal_vendor.environment))
    assert chat.invoke("[[say:up]]").content == "up"
    mortal_vendor.kill()
    with pytest.raises(openai.InternalServerError):
        chat.invoke("hello")


def test_texts_become_vectors(start):
    embeddings = langchain_openai.OpenAIEmbeddings(
        model="builtin/embedding", base_url=start().url + "/v1", api_key="none", check_embedding_ctx_length=False
    )
    kitten, cat, train = embeddings.embed_documents(
        ["We adopted a kitten last week.", "A cat joined our family.", "The train to Oslo leaves at nine."]
    )
    assert len(kitten) == 256 and dot(kitten, cat) > dot(kitten, train) + 0.1
    assert dot(embeddings.embed_query("We adopted a kitten last week."), kitten) > 0.999


def test_lists_of_tokens_become_vectors(start, monkeypatch):
    """What LangChain sends if nobody tells it otherwise."""
    # LiteLLM brings the vocabulary that LangChain would fetch from the network.
    [package] = importlib.util.find_spec("litellm").submodule_search_locations
    vocabularies = pathlib.Path(package) / "litellm_core_utils" / "tokenizers"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(vocabularies))
    url = start().url + "/v1"
    tokens = langchain_openai.OpenAIEmbeddings(model="builtin/embedding", base_url=url, api_key="none")
    texts = langchain_openai.OpenAIEmbeddings(
        model="builtin/embedding", base_url=url, api_key="none", check_embedding_ctx_length=False
    )
    words = ["We adopted a kitten last week.", "Grüße aus Köln 🐈"]
    for from_tokens, from_texts in zip(tokens.embed_documents(words), texts.embed_documents(words)):
        assert dot(from_tokens, from_texts) > 0.999


def dot(left, right):
    return sum(a * b for a, b in zip(left, right))

"""The official `openai` package against our server."""

import openai
import pytest


def client(server, key="none"):
    return openai.OpenAI(base_url=server.url + "/v1", api_key=key, max_retries=0)


def ask(server, text, **more):
    messages = [{"role": "user", "content": text}]
    return client(server).chat.completions.create(model="librarian", messages=messages, **more)


def streamed(server, text, **more):
    chunks = list(ask(server, text, stream=True, **more))
    words = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    return words, chunks


def test_a_memory_survives_a_restart_with_no_key_and_no_network(start):
    server = start()
    told = ask(server, "remember that my cat is called Miso")
    assert told.object == "chat.completion" and told.choices[0].finish_reason == "stop"
    assert told.choices[0].message.role == "assistant" and told.choices[0].message.content
    server.stop()
    server = start()
    answer = ask(server, "what is my cat called?")
    assert "Miso" in answer.choices[0].message.content
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_the_same_while_streaming(start):
    server = start()
    words, chunks = streamed(server, "remember that my dog is called Rex", stream_options={"include_usage": True})
    assert words and chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices == [] and chunks[-1].usage.total_tokens > 0
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert len({chunk.id for chunk in chunks}) == 1
    server.stop()
    words, _ = streamed(start(), "what is my dog called?")
    assert "Rex" in words


def test_agents_are_models(start):
    assert [model.id for model in client(start()).models.list()] == ["librarian"]


def test_errors_are_those_that_the_sdk_knows(start):
    server = start()
    with pytest.raises(openai.NotFoundError) as error:
        client(server).chat.completions.create(model="nobody", messages=[{"role": "user", "content": "hi"}])
    assert error.value.code == "model_not_found" and "librarian" in error.value.message
    with pytest.raises(openai.BadRequestError):
        client(server).chat.completions.create(model="librarian", messages=[])


def test_texts_become_vectors(start):
    sdk = client(start())
    texts = ["We adopted a kitten last week.", "A cat joined our family.", "The train to Oslo leaves at nine."]
    answer = sdk.embeddings.create(model="builtin/embedding", input=texts)
    kitten, cat, train = [item.embedding for item in answer.data]
    assert answer.model == "builtin/embedding" and [item.index for item in answer.data] == [0, 1, 2]
    assert len(kitten) == 256 and abs(dot(kitten, kitten) - 1) < 1e-4
    assert dot(kitten, cat) > dot(kitten, train) + 0.1
    assert answer.usage.prompt_tokens == answer.usage.total_tokens > 15
    # The package asks for base64 by itself; plain numbers must be the same.
    plain = sdk.embeddings.create(model="builtin/embedding", input=texts[0], encoding_format="float")
    assert max(abs(a - b) for a, b in zip(plain.data[0].embedding, kitten)) < 1e-6
    short = sdk.embeddings.create(model="builtin/embedding", input=texts[0], dimensions=64).data[0].embedding
    assert len(short) == 64 and abs(dot(short, short) - 1) < 1e-4
    with pytest.raises(openai.BadRequestError) as error:
        sdk.embeddings.create(model="builtin/embedding", input=texts[0], dimensions=512)
    assert error.value.param == "dimensions"
    with pytest.raises(openai.BadRequestError) as error:
        sdk.embeddings.create(model="builtin/embedding", input=[[1, 4_000_000_000]])
    assert error.value.param == "input"
    with pytest.raises(openai.NotFoundError) as error:
        sdk.embeddings.create(model="text-embedding-3-small", input="hi")
    assert error.value.code == "model_not_found" and "builtin/embedding" in error.value.message


def test_a_vendors_vectors_come_through(start, vendor):
    sdk = client(start(OPENAI_API_KEY="test", OPENAI_BASE_URL=vendor.url + "/v1"))
    answer = sdk.embeddings.create(model="openai/text-embedding-3-small", input=["one", "two"])
    assert [len(item.embedding) for item in answer.data] == [64, 64]
    with pytest.raises(openai.InternalServerError) as error:
        sdk.embeddings.create(model="openai/text-embedding-3-small", input="[[error:500]]")
    assert error.value.status_code == 503


def dot(left, right):
    return sum(a * b for a, b in zip(left, right))


def test_a_key_is_wanted_where_one_is_set(start):
    server = start(LIBRARIAN_API_KEY="open-sesame-1234")
    with pytest.raises(openai.AuthenticationError):
        ask(server, "hi")
    answer = client(server, "open-sesame-1234").chat.completions.create(
        model="librarian", messages=[{"role": "user", "content": "hello"}]
    )
    assert answer.choices[0].message.content


def test_a_real_model_answers_through_the_vendor_and_private_things_stay_private(start, vendor):
    server = start(OPENAI_API_KEY="test", OPENAI_BASE_URL=vendor.url + "/v1")
    text = '[[think:a secret thought]][[tool:memory_insert {"label":"human","new_str":"Likes tea."}]][[say:Noted it.]]'
    answer = ask(server, text)
    assert answer.choices[0].message.content == "Noted it."
    assert "secret" not in answer.model_dump_json() and not answer.choices[0].message.tool_calls
    words, chunks = streamed(server, text.replace("tea", "milk"))
    assert words == "Noted it." and "secret" not in "".join(chunk.model_dump_json() for chunk in chunks)


def test_a_failing_vendor_gives_the_error_of_its_kind(start, vendor):
    server = start(OPENAI_API_KEY="test", OPENAI_BASE_URL=vendor.url + "/v1")
    with pytest.raises(openai.RateLimitError):
        ask(server, "[[error:429]][[retry-after:60]]")
    with pytest.raises(openai.APIStatusError) as error:
        ask(server, "[[error:401]]")
    assert error.value.status_code == 502
    assert ask(server, "[[say:still here]]").choices[0].message.content == "still here"

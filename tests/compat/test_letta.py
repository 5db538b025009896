"""The official `letta-client` package against our server."""

import concurrent.futures

import letta_client
import pytest


def client(server):
    return letta_client.Letta(base_url=server.url, max_retries=0)


def create(letta, **more):
    blocks = [{"label": "human", "value": "The human's name is Sam."}, {"label": "persona", "value": "I am kind."}]
    return letta.agents.create(**{"name": "tester", "model": "builtin/guide", "memory_blocks": blocks, **more})


def say(letta, agent, text, **more):
    return letta.agents.messages.create(agent.id, messages=[{"role": "user", "content": text}], **more)


def kinds(messages):
    return [message.message_type for message in messages]


def words(reply):
    return " ".join(message.content for message in reply.messages if message.message_type == "assistant_message")


def test_create_send_list_and_read_blocks(start):
    letta = client(start())
    agent = create(letta)
    assert agent.agent_type == "letta_v1_agent" and agent.name == "tester"
    reply = say(letta, agent, "remember that my cat is called Miso")
    assert reply.stop_reason.stop_reason == "end_turn" and reply.usage.step_count == 2
    assert kinds(reply.messages) == ["tool_call_message", "tool_return_message", "assistant_message"]
    human = letta.agents.blocks.retrieve("human", agent_id=agent.id)
    assert "my cat is called Miso" in human.value
    assert {block.label for block in letta.agents.blocks.list(agent.id)} == {"human", "persona"}
    listed = list(letta.agents.messages.list(agent.id, order="asc"))
    assert kinds(listed)[:2] == ["system_message", "user_message"]
    assert "Miso" in words(say(letta, agent, "what is my cat called?"))


def test_memory_survives_a_restart(start):
    server = start()
    agent = create(client(server))
    say(client(server), agent, "remember that my boat is called Bounty")
    server.stop()
    letta = client(start())
    again = letta.agents.retrieve(agent.id)
    assert again.name == "tester"
    assert "Bounty" in words(say(letta, agent, "what is my boat called?"))


@pytest.mark.parametrize("stream_tokens", [False, True])
def test_streams(start, stream_tokens):
    letta = client(start())
    agent = create(letta)
    messages = [{"role": "user", "content": "remember that my car is red"}]
    events = list(letta.agents.messages.stream(agent.id, messages=messages, stream_tokens=stream_tokens))
    seen = kinds(events)
    assert "tool_call_message" in seen and "tool_return_message" in seen and "assistant_message" in seen
    assert seen[-2:] == ["stop_reason", "usage_statistics"]


def test_modify_list_and_delete(start):
    letta = client(start())
    agent = create(letta, tags=["one"])
    changed = letta.agents.update(agent.id, name="renamed", description="new")
    assert (changed.name, changed.description) == ("renamed", "new")
    assert agent.id in [found.id for found in letta.agents.list(tags=["one"])]
    block = letta.agents.blocks.update("human", agent_id=agent.id, value="Likes tea.")
    assert block.value == "Likes tea."
    letta.agents.delete(agent.id)
    with pytest.raises(letta_client.NotFoundError):
        letta.agents.retrieve(agent.id)


@pytest.mark.parametrize(
    "agent_type", ["memgpt_agent", "memgpt_v2_agent", "letta_v1_agent", "sleeptime_agent", "split_thread_agent"]
)
def test_agent_types_that_remember_answer(start, agent_type):
    letta = client(start())
    agent = create(letta, agent_type=agent_type)
    say(letta, agent, "remember that my cat is called Miso")
    assert "Miso" in letta.agents.blocks.retrieve("human", agent_id=agent.id).value
    if agent_type != "sleeptime_agent":
        assert "Miso" in words(say(letta, agent, "what is my cat called?"))


@pytest.mark.parametrize("wrong", [{"agent_type": "voice_convo_agent"}, {"enable_sleeptime": True}])
def test_what_needs_groups_is_refused_with_the_reason(start, wrong):
    with pytest.raises(letta_client.BadRequestError, match="group"):
        create(client(start()), **wrong)


def test_two_sends_at_once_are_answered_one_after_the_other(start, vendor):
    letta = client(start(OPENAI_API_KEY="test", OPENAI_BASE_URL=vendor.url + "/v1"))
    agent = create(letta, model="openai/gpt-4o-mini")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        texts = [f"[[delay:200]][[say:answer {name}]] question {name}" for name in ("A", "B")]
        replies = list(pool.map(lambda text: say(letta, agent, text), texts))
    assert sorted(words(reply) for reply in replies) == ["answer A", "answer B"]
    listed = [m for m in letta.agents.messages.list(agent.id, order="asc") if m.message_type != "system_message"]
    assert kinds(listed) == ["user_message", "assistant_message"] * 2


def test_embedding_models_are_listed(start, vendor):
    letta = client(start(OPENAI_API_KEY="test", OPENAI_BASE_URL=vendor.url + "/v1"))
    listed = {model.handle: model for model in letta.models.embeddings.list()}
    builtin, small = listed["builtin/embedding"], listed["openai/text-embedding-3-small"]
    assert (builtin.embedding_dim, builtin.provider_name, builtin.model_type) == (256, "builtin", "embedding")
    assert (small.embedding_dim, small.embedding_endpoint_type) == (1536, "openai")
    # An agent may ask for a model that nobody has here.
    assert create(letta, embedding="letta/letta-free").embedding == "letta/letta-free"


def test_compaction_settings_and_the_context_window(start):
    letta = client(start())
    settings = {"mode": "all", "sliding_window_percentage": 0.4, "clip_chars": 900}
    agent = create(letta, compaction_settings=settings)
    kept = letta.agents.retrieve(agent.id).compaction_settings
    assert (kept.mode, kept.sliding_window_percentage, kept.clip_chars) == ("all", 0.4, 900)
    with pytest.raises(letta_client.UnprocessableEntityError, match="sliding_window_percentage"):
        letta.agents.update(agent.id, compaction_settings={"sliding_window_percentage": 40})
    say(letta, agent, "remember that my cat is called Miso")
    # The package has no method for this route any more, but older ones had.
    context = letta.get(f"/v1/agents/{agent.id}/context", cast_to=object)
    parts = [value for name, value in context.items() if name.startswith("num_tokens_")]
    assert context["context_window_size_current"] == sum(parts) <= context["context_window_size_max"]
    assert "Miso" in context["core_memory"] and context["num_messages"] == len(context["messages"])

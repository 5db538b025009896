// The official `openai` package for Node against our server.

import assert from "node:assert/strict";
import { test } from "node:test";

import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";

import { House, requestsOf } from "./programs.mjs";

const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tool = (name, run) => ({
  type: "function",
  function: { name, description: `Looks up the ${name} of a city.`, parameters: city, parse: JSON.parse, function: run },
});
const described = (name) => ({ type: "function", function: { name, parameters: city } });
const bothCalls =
  '[[tool:weather {"city":"Oslo"}]][[tool:population {"city":"Bergen"}]][[tools-together]][[say:Rain, 291000 people.]]';
const user = (content) => ({ role: "user", content });
const sdk = (server, more = {}) => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0, ...more });
const ask = (server, text, more = {}) =>
  sdk(server).chat.completions.create({ model: "librarian", messages: [user(text)], ...more });

test("a chat remembers, in whole answers and in streams", async (t) => {
  const server = await new House(t).server();
  const told = await ask(server, "remember that my cat is called Miso");
  assert.equal(told.choices[0].finish_reason, "stop");
  assert.ok(told.usage.total_tokens > 0);
  let words = "";
  let usage;
  const stream = await ask(server, "what is my cat called?", { stream: true, stream_options: { include_usage: true } });
  for await (const chunk of stream) {
    words += chunk.choices[0]?.delta.content ?? "";
    usage = chunk.usage ?? usage;
  }
  assert.match(words, /Miso/);
  assert.ok(usage.completion_tokens > 0);
});

test("the streaming helper puts parallel calls together, and a killed server knows them again", async (t) => {
  const house = new House(t);
  const { vendor, environment, server } = await house.both();
  const tools = [described("weather"), described("population")];
  const messages = [user(bothCalls)];
  const first = sdk(server).chat.completions.stream({ model: "librarian", messages, tools });
  const done = [];
  first.on("tool_calls.function.arguments.done", (call) => done.push([call.index, call.name]));
  const { message, finish_reason } = (await first.finalChatCompletion()).choices[0];
  assert.equal(finish_reason, "tool_calls");
  const called = message.tool_calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)]);
  assert.deepEqual(called, [["weather", { city: "Oslo" }], ["population", { city: "Bergen" }]]);
  assert.deepEqual(done, [[0, "weather"], [1, "population"]]);

  await server.kill();
  const again = await house.server(environment);
  const results = message.tool_calls.map((call) => ({ role: "tool", tool_call_id: call.id, content: "found" }));
  const next = { model: "librarian", messages: [...messages, message, ...results], tools };
  const answer = await sdk(again).chat.completions.stream(next).finalChatCompletion();
  assert.equal(answer.choices[0].message.content, "Rain, 291000 people.");
  const roles = (await requestsOf(vendor)).at(-1).messages.map((sent) => sent.role);
  assert.deepEqual(roles.slice(-4), ["user", "assistant", "tool", "tool"]);
});

for (const stream of [false, true]) {
  test(`the package runs tools by itself (stream: ${stream})`, async (t) => {
    const { server } = await new House(t).both();
    const seen = [];
    const run = (name) => ({ city }) => {
      seen.push([name, city]);
      return "found";
    };
    const tools = [tool("weather", run("weather")), tool("population", run("population"))];
    const runner = sdk(server).chat.completions.runTools({ model: "librarian", messages: [user(bothCalls)], tools, stream });
    assert.equal(await runner.finalContent(), "Rain, 291000 people.");
    assert.deepEqual(seen, [["weather", "Oslo"], ["population", "Bergen"]]);
  });
}

test("structured output is parsed", async (t) => {
  const { vendor, server } = await new House(t).both();
  const response_format = zodResponseFormat(z.object({ city: z.string(), days: z.number() }), "trip");
  const messages = [user('[[say:{"city":"Oslo","days":3}]]')];
  const answer = await sdk(server).chat.completions.parse({ model: "librarian", messages, response_format });
  assert.deepEqual(answer.choices[0].message.parsed, { city: "Oslo", days: 3 });
  const streamed = sdk(server).chat.completions.stream({ model: "librarian", messages, response_format });
  assert.deepEqual((await streamed.finalMessage()).parsed, { city: "Oslo", days: 3 });
  assert.equal((await requestsOf(vendor))[0].response_format.json_schema.strict, true);
});

test("every error has its class", async (t) => {
  const { vendor, server } = await new House(t).both({ LIBRARIAN_API_KEY: "open-sesame-1234" });
  const client = sdk(server, { apiKey: "open-sesame-1234" });
  const said = (text, more) => client.chat.completions.create({ model: "librarian", messages: [user(text)], ...more });
  const fails = async (kind, promise, expected) => {
    const error = await promise.then(() => assert.fail("it worked"), (error) => error);
    assert.equal(error.constructor, kind, `${error}`);
    for (const [name, value] of Object.entries(expected)) assert.equal(error[name], value);
    assert.ok(error.requestID);
  };
  await fails(OpenAI.NotFoundError, said("hi", { model: "gpt-9" }), { status: 404, code: "model_not_found", param: "model" });
  await fails(OpenAI.BadRequestError, said("hi", { temperature: 7 }), { status: 400, param: "temperature" });
  await fails(OpenAI.AuthenticationError, sdk(server, { apiKey: "wrong" }).models.list(), { code: "invalid_api_key" });
  const limited = "[[error:429]][[retry-after:60]]";
  await fails(OpenAI.RateLimitError, said(limited), { code: "rate_limit_exceeded" });
  await fails(OpenAI.RateLimitError, said(limited, { stream: true }), { code: "rate_limit_exceeded" });
  await vendor.kill();
  await fails(OpenAI.InternalServerError, said("hello"), { status: 503 });
});

test("a stream that breaks is an error and not an end", async (t) => {
  const { server } = await new House(t).both();
  const stream = await ask(server, "[[say:one two three four five six]][[cut]]", { stream: true });
  const read = async () => {
    for await (const chunk of stream) assert.equal(chunk.choices[0]?.finish_reason ?? null, null);
  };
  await assert.rejects(read, OpenAI.APIError);
});

test("models and vectors", async (t) => {
  const client = sdk(await new House(t).server());
  const models = [];
  for await (const model of client.models.list()) models.push(model.id);
  assert.deepEqual(models, ["librarian"]);
  assert.equal((await client.models.retrieve("librarian")).id, "librarian");
  const vectors = async (more) => {
    const answer = await client.embeddings.create({ model: "builtin/embedding", input: ["a kitten", "a train"], ...more });
    return answer.data.map((item) => item.embedding);
  };
  // The package asks for base64 by itself.
  const [packed, plain] = [await vectors({}), await vectors({ encoding_format: "float" })];
  assert.equal(packed[0].length, 256);
  packed[1].forEach((number, index) => assert.ok(Math.abs(number - plain[1][index]) < 1e-6));
});

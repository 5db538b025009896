// The Vercel AI SDK against our server, through its provider for compatible servers and through the one for OpenAI.

import assert from "node:assert/strict";
import { test } from "node:test";

import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, embedMany, generateObject, generateText, stepCountIs, streamObject, streamText, tool } from "ai";
import { z } from "zod";

import { House, requestsOf } from "./programs.mjs";

const providers = {
  "openai-compatible": (server, apiKey = "none") =>
    createOpenAICompatible({
      name: "librarian",
      baseURL: `${server.url}/v1`,
      apiKey,
      supportsStructuredOutputs: true,
      includeUsage: true,
    }),
  openai: (server, apiKey = "none") => {
    const provider = createOpenAI({ baseURL: `${server.url}/v1`, apiKey });
    const chat = (model) => provider.chat(model);
    chat.textEmbeddingModel = (model) => provider.textEmbeddingModel(model);
    return chat;
  },
};
const trip = z.object({ city: z.string(), days: z.number() });
const bothCalls =
  '[[tool:weather {"city":"Oslo"}]][[tool:population {"city":"Bergen"}]][[tools-together]][[say:Rain, 291000 people.]]';

/** Tools that note what they were asked. `first` runs before the first of them answers. */
function tools(seen, first = async () => {}) {
  let begun;
  const described = (name) =>
    tool({
      description: `Looks up the ${name} of a city.`,
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => {
        seen.push([name, city]);
        begun ??= first();
        await begun;
        return { found: city };
      },
    });
  return { weather: described("weather"), population: described("population") };
}

for (const [name, provider] of Object.entries(providers)) {
  test(`${name}: a chat remembers, in whole answers and in streams`, async (t) => {
    const model = provider(await new House(t).server())("librarian");
    const told = await generateText({ model, prompt: "remember that my cat is called Miso", maxRetries: 0 });
    assert.equal(told.finishReason, "stop");
    const asked = streamText({ model, prompt: "what is my cat called?", maxRetries: 0 });
    let words = "";
    for await (const piece of asked.textStream) words += piece;
    assert.match(words, /Miso/);
    assert.equal(await asked.finishReason, "stop");
    assert.ok((await asked.usage).outputTokens > 0);
  });

  for (const streamed of [false, true]) {
    test(`${name}: a tool loop of two parallel calls (streamed: ${streamed})`, async (t) => {
      const { vendor, server } = await new House(t).both();
      const seen = [];
      const options = {
        model: provider(server)("librarian"),
        system: "You plan trips.",
        prompt: bothCalls,
        tools: tools(seen),
        stopWhen: stepCountIs(4),
        maxRetries: 0,
      };
      const result = streamed ? streamText(options) : await generateText(options);
      assert.equal(await result.text, "Rain, 291000 people.");
      assert.deepEqual((await result.steps).map((step) => step.finishReason), ["tool-calls", "stop"]);
      assert.deepEqual(seen, [["weather", "Oslo"], ["population", "Bergen"]]);
      const returned = (await requestsOf(vendor)).at(-1).messages.filter((message) => message.role === "tool");
      assert.deepEqual(returned.map((message) => /Oslo|Bergen/.exec(message.content)[0]), ["Oslo", "Bergen"]);
    });
  }

  test(`${name}: structured output`, async (t) => {
    const { vendor, server } = await new House(t).both();
    const options = { model: provider(server)("librarian"), schema: trip, prompt: '[[say:{"city":"Oslo","days":3}]]' };
    assert.deepEqual((await generateObject({ ...options, maxRetries: 0 })).object, { city: "Oslo", days: 3 });
    const streamed = streamObject({ ...options, maxRetries: 0 });
    for await (const part of streamed.partialObjectStream) assert.equal(typeof part, "object");
    assert.deepEqual(await streamed.object, { city: "Oslo", days: 3 });
    assert.deepEqual((await requestsOf(vendor)).map((body) => body.response_format.type), ["json_schema", "json_schema"]);
  });

  test(`${name}: errors say what happened, and whether to try again`, async (t) => {
    const { vendor, server } = await new House(t).both({ LIBRARIAN_API_KEY: "open-sesame-1234" });
    const open = provider(server, "open-sesame-1234");
    const fails = async (status, isRetryable, model, prompt, more = {}) => {
      const call = generateText({ model, prompt, maxRetries: 0, ...more });
      const error = await call.then(() => assert.fail("it worked"), (error) => error);
      assert.ok(APICallError.isInstance(error), `${error}`);
      assert.deepEqual([error.statusCode, error.isRetryable], [status, isRetryable]);
      assert.equal(error.message, JSON.parse(error.responseBody).error.message);
    };
    await fails(404, false, open("gpt-9"), "hi");
    await fails(400, false, open("librarian"), "hi", { temperature: 7 });
    await fails(401, false, provider(server, "wrong")("librarian"), "hi");
    await fails(429, true, open("librarian"), "[[error:429]][[retry-after:60]]");
    await vendor.kill();
    await fails(503, true, open("librarian"), "hello");
  });

  test(`${name}: texts become vectors`, async (t) => {
    const model = provider(await new House(t).server()).textEmbeddingModel("builtin/embedding");
    const { embeddings } = await embedMany({ model, values: ["a kitten", "a train"], maxRetries: 0 });
    assert.deepEqual(embeddings.map((vector) => vector.length), [256, 256]);
  });
}

test("a tool loop goes on though the server is killed while a tool runs", async (t) => {
  const house = new House(t);
  const { environment, server } = await house.both();
  let current = server;
  const restart = async () => {
    await server.kill();
    current = await house.server(environment);
  };
  // The address stays the same for the application, as it does behind a name.
  const follow = (url, init) => fetch(String(url).replace(server.url, current.url), init);
  const provider = createOpenAICompatible({ name: "librarian", baseURL: `${server.url}/v1`, fetch: follow });
  const seen = [];
  const result = streamText({
    model: provider("librarian"),
    prompt: bothCalls,
    tools: tools(seen, restart),
    stopWhen: stepCountIs(4),
    maxRetries: 0,
  });
  assert.equal(await result.text, "Rain, 291000 people.");
  assert.equal(seen.length, 2);
  assert.notEqual(current.url, server.url);
});

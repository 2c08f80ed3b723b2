import { describe, expect, test } from 'vitest';
import { chat, expectServed } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { expectError, send } from '../support/http.ts';
import { answers } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

/** Sends `body` and asserts that no upstream was called for it. */
async function refused(body: string | Buffer, headers: Record<string, string> = {}) {
  const { gateway, a } = await startBefore({ a: answers('x') });
  const answer = await chat(gateway.url, body, headers);
  expect(a.calls).toHaveLength(0);
  expect(answer).toMatchObject({ upstream: 'none', reason: 'none' });
  const { error } = JSON.parse(answer.text) as { error: { message: string } };
  return { status: answer.status, ...error };
}

const MESSAGES = '"messages":[{"role":"user","content":"hi"}]';
/** What the gateway adds where a caller does not ask. */
const USAGE_ASKED = '"stream_options":{"include_usage":true}';

test.each<[name: string, body: string, message: RegExp]>([
  ['an extra comma', `{${MESSAGES},}`, /position \d+/],
  ['something after the end', `{${MESSAGES}} {}`, /position \d+/],
  ['a quote that is not closed', '{"messages":["', /position \d+/],
  ['a raw NUL byte in a text', `{${MESSAGES},"user":"a\0b"}`, /position \d+/],
  ['a raw line break in a text', `{${MESSAGES},"user":"a\nb"}`, /position \d+/],
  ['an early end', `{${MESSAGES}`, /position \d+|ends too early/],
  ['no JSON at all', 'hello', /not valid JSON/],
  ['nothing', '', /empty/],
  // curl/curl#8818: what cmd.exe and PowerShell make of the quotes of an example for other shells.
  ['the quotes of cmd.exe', `'{messages:[]}'`, /not valid JSON\..*write the JSON to a file/],
  ['the quotes of PowerShell', '{messages:[]}', /position 1\..*write the JSON to a file/],
  ['quotes with backslashes', '{\\"messages\\":[]}', /position 1\..*write the JSON to a file/],
  ['NaN', `{${MESSAGES},"seed":NaN}`, /not valid JSON/],
])('%s in a body gets a 400 that says where', async (_name, body, message) => {
  const error = await refused(body);
  expect(error).toMatchObject({ status: 400, code: 'invalid_request', param: null });
  expect(error.message).toMatch(message);
  expect(error.message).not.toContain('content');
});

test.each<[name: string, body: string, param: string | null]>([
  ['an array', `[{${MESSAGES}}]`, null],
  ['a text', '"messages"', null],
  ['null', 'null', null],
  ['a number', '7', null],
  ['no messages', '{}', 'messages'],
  ['empty messages', '{"messages":[]}', 'messages'],
  ['messages that are an object', '{"messages":{"0":1}}', 'messages'],
  ['messages that are a text', '{"messages":"hi"}', 'messages'],
  ['messages that are null', '{"messages":null}', 'messages'],
  ['messages of the prototype', '{"__proto__":{"messages":[1]}}', 'messages'],
  ['a model that is a number', `{${MESSAGES},"model":7}`, 'model'],
  ['a model that is empty', `{${MESSAGES},"model":""}`, 'model'],
  ['a model that is a list', `{${MESSAGES},"model":["m"]}`, 'model'],
  ['a stream that is a text', `{${MESSAGES},"stream":"true"}`, 'stream'],
  ['a stream that is a number', `{${MESSAGES},"stream":1}`, 'stream'],
  ['stream options that are a list', `{${MESSAGES},"stream_options":[]}`, 'stream_options'],
  ['two models', `{"model":"a",${MESSAGES},"model":"b"}`, 'model'],
  ['two models, one in escapes', `{"model":"a",${MESSAGES},"mod\\u0065l":"b"}`, 'model'],
  ['two of any key', `{${MESSAGES},"seed":1,"seed":1}`, 'seed'],
  ['two prototypes', `{${MESSAGES},"__proto__":1,"__proto__":1}`, '__proto__'],
])('%s in place of a valid body gets a 400 that names the field', async (_name, body, param) => {
  const error = await refused(body);
  expect(error).toMatchObject({ status: 400, code: 'invalid_request', param });
  expect(error.message).toContain(param ?? 'JSON object');
});

test.each([
  ['/v1/chat/completions', '"input":"hi"', 'messages', '/v1/responses'],
  ['/v1/chat/completions', '"prompt":"hi"', 'messages', '/v1/completions'],
  ['/v1/embeddings', MESSAGES, 'input', '/v1/chat/completions'],
  ['/v1/completions', MESSAGES, 'prompt', '/v1/chat/completions'],
])('a body at %s with %s gets a 400 that names its place', async (path, members, param, place) => {
  const { url } = await startGateway({ HOSTED_A_BASE_URL: 'http://127.0.0.1:9' });
  const headers = { 'content-type': 'application/json' };
  const body = `{"model":"m",${members}}`;
  const answer = await send(url + path, { method: 'POST', headers, body });
  const message = expectError(answer, 400, 'invalid_request');
  expect(message).toContain(`'${param}' must be`);
  expect(message).toContain(`belongs at ${place}.`);
});

test('a byte order mark in front of a body is left out', async () => {
  const { url, a } = await startBefore({ a: answers('x') });
  expect((await chat(url, `\uFEFF{${MESSAGES}}`)).status).toBe(200);
  expect(a.calls[0]?.body.toString()).toMatch(/^\{"messages"/);
});

test('a body with invalid UTF-8 gets a 400', async () => {
  const error = await refused(Buffer.from(`{${MESSAGES},"user":"\u00c3\u0028"}`, 'latin1'));
  expect(error).toMatchObject({ status: 400, code: 'invalid_request' });
  expect(error.message).toContain('UTF-8');
});

const DEEP = '['.repeat(100_000) + ']'.repeat(100_000);

const ODD_BODIES: readonly [name: string, members: string][] = [
  ['a nest 100,000 deep', `"x":${DEEP}`],
  ['a nest of objects 100,000 deep', `"x":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
  ['numbers beyond any type', '"seed":1e999,"top_k":1234567890123456789012,"x":-0.0,"y":1.0E+2'],
  ['the key __proto__', '"__proto__":{"model":"evil","stream":true}'],
  ['keys that objects inherit', '"constructor":1,"toString":2,"hasOwnProperty":3'],
  ['escapes, blanks and line ends', '"user" :\t"\\u0000\\ud83d\\ude00\\/" ,\r\n"x" : [ ]'],
  ['half of a surrogate pair', '"user":"\\ud83d"'],
  ['a key of quotes and braces', '"\\"}{":"\\\\"'],
  ['an empty key', '"":null'],
];

/** `ODD` stands for such members, in what a caller sends and in what its upstream gets. */
describe.each<[how: string, settings: Record<string, string>, sent: string, asked: string]>([
  ['without a model of its own', {}, '"stream":true,ODD', `"stream":true,ODD,${USAGE_ASKED}`],
  [
    'with a model of its own',
    { HOSTED_A_MODEL: 'mine' },
    '"model":"yours","stream":true,ODD',
    `"model":"mine","stream":true,ODD,${USAGE_ASKED}`,
  ],
  ['that is asked for a stream', {}, 'ODD', `ODD,"stream":true,${USAGE_ASKED}`],
])('for an upstream %s', (_how, settings, sent, asked) => {
  test.each(ODD_BODIES)('%s in a body passes byte for byte', async (_name, odd) => {
    const { gateway, a } = await startBefore({ a: answers('x') }, settings);
    const bodyOf = (members: string) => `{${MESSAGES},${members.replace('ODD', () => odd)}}`;
    expectServed(await chat(gateway.url, bodyOf(sent)), 'hosted_a');
    expect(a.calls.map((call) => call.body.toString() === bodyOf(asked))).toEqual([true]);
  });
});

test('audio, video and a file without a name reach an engine unchanged', async () => {
  const parts =
    '[{"type":"audio_url","audio_url":{"url":"data:audio/wav;base64,AA=="}},{"type":"video_url","video_url":{"url":"https://x/v.mp4"}},{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}},{"type":"file","file":{"file_data":"data:application/pdf;base64,AA=="}}]';
  const { gateway, a } = await startBefore({ a: answers('x') });
  const body = `{"messages":[{"role":"user","content":${parts}}],"stream":true,${USAGE_ASKED}}`;
  expect((await chat(gateway.url, body)).status).toBe(200);
  expect(a.calls[0]?.body.toString()).toBe(body);
});

test.each([
  ['whose key is spelled in escapes is read as the model', '"mod\\u0065l":"MODEL"'],
  ['deeper in the body is not', '"a":{"model":"x"},"model":"MODEL","b":[{"model":"y"}]'],
])('a model %s', async (_what, members) => {
  const { gateway, a } = await startBefore({ a: answers('x') }, { HOSTED_A_MODEL: 'mine' });
  const body = (model: string) =>
    `{${members.replace('MODEL', model)},${MESSAGES},"str\\u0065am":true,${USAGE_ASKED}}`;
  await chat(gateway.url, body('yours'));
  expect(a.calls.map((call) => call.body.toString())).toEqual([body('mine')]);
});

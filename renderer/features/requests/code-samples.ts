/** What a sample sends; the question is always "Hello", as no prompt is kept. */
export interface SampleRequest {
  readonly baseUrl: string;
  /** The endpoint's path after the version, such as `chat/completions`. */
  readonly endpoint: string;
  /** Null: none is named. */
  readonly model: string | null;
  readonly stream: boolean;
  readonly needsKey: boolean;
}

export const LANGUAGES = ['curl', 'python', 'typescript'] as const;
export type Language = (typeof LANGUAGES)[number];

/** The same request in each language; null for an endpoint that needs more than a question. */
export function codeSamples(asked: SampleRequest): Readonly<Record<Language, string>> | null {
  const call = CALLS[asked.endpoint];
  if (call === undefined) return null;
  const request = { ...asked, stream: asked.stream && call.canStream };
  return {
    curl: curlOf(request, call),
    python: pythonOf(request, call),
    typescript: typescriptOf(request, call),
  };
}

interface Call {
  readonly sdk: 'openai' | 'anthropic';
  readonly method: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly canStream: boolean;
  readonly shows: Readonly<
    Record<'python' | 'typescript', readonly [event: string, whole: string]>
  >;
}

const MESSAGES = [{ role: 'user', content: 'Hello' }];

const CALLS: Readonly<Record<string, Call>> = {
  'chat/completions': {
    sdk: 'openai',
    method: 'chat.completions',
    body: { messages: MESSAGES },
    canStream: true,
    shows: {
      python: [
        'if event.choices:\n        print(event.choices[0].delta.content or "", end="", flush=True)',
        'print(answer.choices[0].message.content)',
      ],
      typescript: [
        "process.stdout.write(event.choices[0]?.delta.content ?? '');",
        'console.log(answer.choices[0]?.message.content);',
      ],
    },
  },
  responses: {
    sdk: 'openai',
    method: 'responses',
    body: { input: 'Hello' },
    canStream: true,
    shows: {
      python: [
        'if event.type == "response.output_text.delta":\n        print(event.delta, end="", flush=True)',
        'print(answer.output_text)',
      ],
      typescript: [
        "if (event.type === 'response.output_text.delta') process.stdout.write(event.delta);",
        'console.log(answer.output_text);',
      ],
    },
  },
  messages: {
    sdk: 'anthropic',
    method: 'messages',
    body: { max_tokens: 1024, messages: MESSAGES },
    canStream: true,
    shows: {
      python: [
        'if event.type == "content_block_delta" and event.delta.type == "text_delta":\n        print(event.delta.text, end="", flush=True)',
        'print(answer.content[0].text)',
      ],
      typescript: [
        "if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') process.stdout.write(event.delta.text);",
        'console.log(answer.content);',
      ],
    },
  },
  embeddings: {
    sdk: 'openai',
    method: 'embeddings',
    body: { input: 'Hello' },
    canStream: false,
    shows: {
      python: ['', 'print(len(answer.data[0].embedding))'],
      typescript: ['', 'console.log(answer.data[0]?.embedding.length);'],
    },
  },
};

const KEY = 'INGLENOOK_API_KEY';

function curlOf({ baseUrl, endpoint, model, stream, needsKey }: SampleRequest, call: Call): string {
  const body = {
    ...(model === null ? {} : { model }),
    ...call.body,
    ...(stream ? { stream: true } : {}),
  };
  // A quote would end the shell's; in JSON it may stand as its code.
  const data = JSON.stringify(body).replaceAll("'", String.raw`\u0027`);
  const key = needsKey ? ` -H "Authorization: Bearer $${KEY}"` : '';
  const flags = stream ? '-N ' : '';
  return `curl ${flags}${baseUrl}/${endpoint}${key} -H 'Content-Type: application/json' -d '${data}'`;
}

/** SDKs want a model: without one the gateway takes any name. */
const ANY_MODEL = 'any';

/** Anthropic's SDKs add the version to the path. */
const addressFor = ({ baseUrl }: SampleRequest, { sdk }: Call) =>
  sdk === 'anthropic' ? baseUrl.replace(/\/v1$/, '') : baseUrl;

function pythonOf(request: SampleRequest, call: Call): string {
  const { model, stream, needsKey } = request;
  const type = call.sdk === 'openai' ? 'OpenAI' : 'Anthropic';
  const key = needsKey ? `os.environ["${KEY}"]` : `os.environ.get("${KEY}", "none")`;
  const parameters = { model: model ?? ANY_MODEL, ...call.body };
  const [event, whole] = call.shows.python;
  return [
    `# pip install ${call.sdk}`,
    'import os',
    `from ${call.sdk} import ${type}`,
    '',
    `client = ${type}(base_url=${JSON.stringify(addressFor(request, call))}, api_key=${key})`,
    `${stream ? 'events' : 'answer'} = client.${call.method}.create(`,
    // JSON of strings, numbers, lists and objects is Python as well.
    ...Object.entries(parameters).map(([name, value]) => `    ${name}=${JSON.stringify(value)},`),
    ...(stream ? ['    stream=True,'] : []),
    ')',
    ...(stream ? ['for event in events:', `    ${event}`] : [whole]),
  ].join('\n');
}

function typescriptOf(request: SampleRequest, call: Call): string {
  const { model, stream, needsKey } = request;
  const [type, sdk] =
    call.sdk === 'openai' ? ['OpenAI', 'openai'] : ['Anthropic', '@anthropic-ai/sdk'];
  const key = needsKey ? `process.env.${KEY}` : `process.env.${KEY} ?? 'none'`;
  const parameters = { model: model ?? ANY_MODEL, ...call.body };
  const [event, whole] = call.shows.typescript;
  return [
    `// npm install ${sdk}`,
    `import ${type} from '${sdk}';`,
    '',
    `const client = new ${type}({`,
    `  baseURL: ${JSON.stringify(addressFor(request, call))},`,
    `  apiKey: ${key},`,
    '});',
    `const ${stream ? 'events' : 'answer'} = await client.${call.method}.create({`,
    ...Object.entries(parameters).map(([name, value]) => `  ${name}: ${JSON.stringify(value)},`),
    ...(stream ? ['  stream: true,'] : []),
    '});',
    ...(stream ? ['for await (const event of events) {', `  ${event}`, '}'] : [whole]),
  ].join('\n');
}

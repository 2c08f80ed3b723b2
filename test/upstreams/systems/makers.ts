import { anthropic, google, openAi, refused } from '../refused.ts';
import { answer, DONE, part, piece, usagePart, responseEvents, typed } from '../speech.ts';
import type { System } from '../system.ts';

/** xAI says it of missing rights and of flagged prompts. */
const PERMISSION = 'The caller does not have permission to execute the specified operation';

/** Hosts that serve their own models. */
export const MAKERS: readonly System[] = [
  {
    name: 'OpenAI',
    place: 'hosted_a',
    manner: { opening: { content: '', refusal: null } },
    refusals: [
      // platform.openai.com/docs, Error codes; github.com/anomalyco/opencode, provider/error.ts.
      refused('quota', 429, openAi('You exceeded your current quota.', 'insufficient_quota')),
      refused('credentials', 401, openAi('Incorrect API key provided: sk-***.', 'invalid_api_key')),
      refused(
        'model_not_found',
        403,
        openAi('Project `proj_1` does not have access to model `m`', 'model_not_found'),
      ),
      // github.com/fork-dev/TrackerWin/issues/2595
      refused(
        'request_too_large',
        429,
        openAi(
          'Request too large for m on tokens per min (TPM): Limit 30000, Requested 52000.',
          'rate_limit_exceeded',
          'tokens',
        ),
      ),
      refused(
        'moderation',
        400,
        openAi(
          'Your prompt was flagged as potentially violating our usage policy.',
          'invalid_prompt',
        ),
      ),
      refused(
        'unsupported_feature',
        400,
        openAi(
          "Unsupported value: 'temperature' does not support 0.2 with this model.",
          'unsupported_value',
        ),
      ),
      // platform.openai.com/docs, Rate limits
      refused('rate_limited', 429, openAi('Rate limit reached for m.', 'rate_limit_exceeded'), {
        headers: { 'retry-after-ms': '2500', 'retry-after': '3' },
        waitMs: 2500,
      }),
      refused('rate_limited', 429, openAi('Rate limit reached for m.', 'rate_limit_exceeded'), {
        headers: { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '6m0s' },
        waitMs: 360_000,
      }),
    ],
    oddities: [
      {
        // github.com/NousResearch/hermes-agent/pull/5689; github.com/commontoolsinc/labs/pull/5092: the host of Codex.
        says: 'no output in its last event',
        native: 'responses',
        stream: responseEvents('Yes', 'response.completed', { status: 'completed', output: [] }),
        fate: { text: 'Yes' },
      },
      {
        // platform.openai.com/docs/api-reference/responses-streaming
        says: 'that it failed at a limit',
        native: 'responses',
        stream: [
          typed('response.failed', {
            response: {
              status: 'failed',
              error: { code: 'rate_limit_exceeded', message: 'Please try again in 11s.' },
            },
          }),
        ],
        fate: { next: 'rate_limited' },
      },
    ],
    // github.com/vercel/ai/issues/17230: clients act on the code.
    failures: [{ event: openAi('too long', 'context_length_exceeded'), means: 'context_length' }],
  },
  {
    // github.com/Azure/azure-sdk-for-go/issues/21086; github.com/langchain-ai/langchain/issues/18977.
    name: 'Azure OpenAI',
    place: 'hosted_a',
    manner: {
      before: [
        { id: '', model: '', object: '', created: 0, choices: [], prompt_filter_results: [] },
      ],
      behind: [
        {
          id: '',
          model: '',
          object: '',
          created: 0,
          choices: [{ index: 0, finish_reason: null, content_filter_offsets: {} }],
        },
      ],
    },
    refusals: [
      // github.com/BerriAI/litellm, exception_mapping_utils.py
      refused('moderation', 400, {
        error: {
          message:
            "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
          type: null,
          param: 'prompt',
          code: 'content_filter',
          status: 400,
          innererror: { code: 'ResponsibleAIPolicyViolation', content_filter_result: {} },
        },
      }),
      refused(
        'rate_limited',
        429,
        { error: { code: '429', message: 'Requests have exceeded call rate limit.' } },
        {
          headers: { 'retry-after': '20' },
          waitMs: 20_000,
        },
      ),
    ],
    oddities: [
      {
        says: 'nothing, as it was filtered',
        stream: [part({ role: 'assistant' }), part({}, 'content_filter'), DONE],
        whole: answer({ content: null }, 'content_filter'),
        fate: { finish: 'content_filter' },
      },
    ],
  },
  {
    // platform.claude.com/docs, OpenAI SDK compatibility.
    name: 'Anthropic by chat completions',
    place: 'hosted_a',
    manner: { usage: 'with the end' },
    refusals: [
      // github.com/anthropics/claude-code/issues/66314
      refused(
        'quota',
        400,
        anthropic(
          'invalid_request_error',
          'Your credit balance is too low to access the Anthropic API.',
        ),
      ),
      refused(
        'context_length',
        400,
        anthropic('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
      ),
      refused(
        'request_too_large',
        413,
        anthropic('request_too_large', 'Request exceeds the maximum size'),
      ),
      refused('model_not_found', 404, anthropic('not_found_error', 'model: m')),
      refused(
        'rate_limited',
        429,
        anthropic('rate_limit_error', 'This request would exceed your rate limit.'),
        {
          headers: { 'retry-after': '41' },
          waitMs: 41_000,
        },
      ),
      // github.com/anthropics/claude-code/issues/42616
      refused(
        'request_too_large',
        429,
        anthropic('rate_limit_error', 'Extra usage is required for long context requests.'),
      ),
      // github.com/BerriAI/litellm/issues/4562
      refused('http_529', 529, anthropic('overloaded_error', 'Overloaded')),
    ],
    lists: {
      body: {
        data: [
          { type: 'model', id: 'm', created_at: '1970-01-01T00:00:07Z', max_input_tokens: 4096 },
        ],
        has_more: false,
      },
      model: { id: 'm', created: 7, context_length: 4096 },
    },
  },
  {
    // github.com/THU-MAIC/OpenMAIC/issues/1556; github.com/googleapis/python-genai/issues/2868.
    name: 'Gemini',
    place: 'hosted_a',
    manner: {
      role: 'each',
      calls: { index: 'none', arguments: 'whole' },
      finish: { tool_calls: 'stop' },
      usage: 'each',
      lineEnd: '\r\n',
    },
    refusals: [
      // github.com/continuedev/continue/issues/11336
      refused(
        'credentials',
        400,
        google(400, 'API key expired. Please renew the API key.', 'INVALID_ARGUMENT', [
          { reason: 'API_KEY_INVALID' },
        ]),
      ),
      refused(
        'context_length',
        400,
        google(
          400,
          'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
          'INVALID_ARGUMENT',
        ),
      ),
      // github.com/dcdpr/jp/issues/1061; googleapis/python-genai/issues/2114; dyad-sh/dyad/issues/3626
      refused(
        'rate_limited',
        429,
        google(429, 'You exceeded your current quota.', 'RESOURCE_EXHAUSTED', [
          { retryDelay: '34.074824224s' },
        ]),
        { waitMs: 34_074.824224 },
      ),
      refused(
        'quota',
        429,
        google(429, 'Your prepayment credits are depleted.', 'RESOURCE_EXHAUSTED'),
      ),
    ],
    // github.com/HKUDS/Vibe-Trading/pull/308; github.com/NousResearch/hermes-agent/pull/83886
    gaveUp: ['function_call_filter: MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL'],
    oddities: [
      {
        says: 'no choice, and no reason',
        stream: [{ ...part({}), choices: [] }, DONE],
        whole: { ...answer({}), choices: [] },
        fate: { next: 'bad_response' },
      },
      {
        // github.com/agentjido/req_llm/issues/935
        says: 'a call that it could not write',
        stream: [part({ role: 'assistant' }, 'MALFORMED_FUNCTION_CALL'), DONE],
        whole: answer({ content: '' }, 'MALFORMED_FUNCTION_CALL'),
        fate: { next: 'bad_response' },
      },
      {
        // github.com/dyedd/lens/issues/49, a reseller: nothing tells whose arguments they are.
        says: 'the arguments of two calls under one index',
        stream: [
          part({ tool_calls: [piece(0, 'a', '{"n":1}', { id: 'call_1' })] }),
          part({ tool_calls: [piece(0, null, '{"n":2}')] }),
          part({}, 'tool_calls'),
          DONE,
        ],
        fate: { broken: '' },
      },
    ],
  },
  {
    // github.com/AstrBotDevs/AstrBot/issues/6661: pieces without an index.
    name: 'Vertex',
    place: 'hosted_a',
    manner: {
      role: 'each',
      calls: { index: 'none' },
      finish: { length: 'MAX_TOKENS', content_filter: 'SAFETY', stop: 'STOP' },
      lineEnd: '\r\n',
    },
    refusals: [
      refused(
        'credentials',
        401,
        google(401, 'Request had invalid authentication credentials.', 'UNAUTHENTICATED'),
      ),
    ],
  },
  {
    name: 'xAI',
    place: 'hosted_a',
    manner: { role: 'each', calls: { arguments: 'whole' } },
    refusals: [
      refused('credentials', 403, { code: PERMISSION, error: 'The API key has no access.' }),
      // github.com/NousResearch/hermes-agent, agent/error_classifier.py
      refused('quota', 403, {
        code: PERMISSION,
        error:
          'You have either run out of available resources or do not have an active Grok subscription.',
      }),
      refused('quota', 403, {
        code: PERMISSION,
        error: 'Your team has used all available credits.',
      }),
    ],
    oddities: [
      {
        // github.com/vercel/ai/issues/12485
        says: 'more cached tokens than input',
        stream: [
          part({ content: 'Yes' }, 'stop'),
          usagePart(10, 5, { prompt_tokens_details: { cached_tokens: 100 } }),
          DONE,
        ],
        fate: { text: 'Yes' },
        tokens: { input: 110, cached: 100, output: 5, estimated: false },
      },
    ],
  },
];

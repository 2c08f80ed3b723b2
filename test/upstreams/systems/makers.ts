import { anthropic, google, openAi, refused } from '../refused.ts';
import { answer, DONE, part, piece, usagePart } from '../speech.ts';
import type { System } from '../system.ts';

/** xAI says it of missing rights and of flagged prompts. */
const PERMISSION = 'The caller does not have permission to execute the specified operation';

/** A chunk with a message beside its delta. */
const beside = (content: string, soFar: string) => ({
  ...part({}),
  choices: [{ index: 0, delta: { content }, message: { content: soFar }, finish_reason: null }],
});

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
      refused('model_not_found', 404, openAi('The model `m` does not exist', 'model_not_found')),
      refused(
        'context_length',
        400,
        openAi("This model's maximum context length is 8192 tokens.", 'context_length_exceeded'),
      ),
      refused(
        'context_length',
        400,
        openAi('Your input exceeds the context window of this model.', null),
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
      refused('model_not_found', 404, {
        error: {
          code: 'DeploymentNotFound',
          message: 'The API deployment for this resource does not exist.',
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
        'context_length',
        400,
        anthropic(
          'invalid_request_error',
          'input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000',
        ),
      ),
      refused(
        'request_too_large',
        413,
        anthropic('request_too_large', 'Request exceeds the maximum size'),
      ),
      refused('model_not_found', 404, anthropic('not_found_error', 'model: m')),
      refused('credentials', 401, anthropic('authentication_error', 'invalid x-api-key')),
      refused(
        'rate_limited',
        429,
        anthropic('rate_limit_error', 'This request would exceed your rate limit.'),
        {
          headers: { 'retry-after': '41' },
          waitMs: 41_000,
        },
      ),
      // github.com/BerriAI/litellm/issues/4562
      refused('http_529', 529, anthropic('overloaded_error', 'Overloaded')),
    ],
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
      // github.com/google-gemini/gemini-cli/issues/6454
      refused(
        'model_not_found',
        404,
        google(404, 'models/m is not found for API version v1main.', 'NOT_FOUND'),
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
      // github.com/dcdpr/jp/issues/1061; github.com/googleapis/python-genai/issues/2114
      refused(
        'rate_limited',
        429,
        google(429, 'You exceeded your current quota.', 'RESOURCE_EXHAUSTED', [
          { retryDelay: '34.074824224s' },
        ]),
        { waitMs: 34_074.824224 },
      ),
    ],
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
      refused(
        'rate_limited',
        429,
        google(429, 'Resource has been exhausted (e.g. check quota).', 'RESOURCE_EXHAUSTED'),
      ),
    ],
  },
  {
    // github.com/symfony/ai/issues/2424; github.com/vercel/ai/issues/19181; Portkey-AI/gateway, finishReasonMap.ts.
    name: 'Mistral',
    place: 'hosted_a',
    manner: {
      reasoning: 'parts',
      calls: { arguments: 'whole' },
      finish: { length: 'model_length' },
      usage: 'with the end',
    },
    refusals: [
      // docs.mistral.ai, API
      refused('model_not_found', 400, {
        object: 'error',
        message: 'Invalid model: m',
        type: 'invalid_model',
        param: null,
        code: '1500',
      }),
      refused('credentials', 401, { detail: 'Unauthorized' }),
      refused('context_length', 400, {
        object: 'error',
        message:
          'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
        type: 'invalid_request_error',
        code: '3051',
      }),
      // github.com/BerriAI/litellm, exception_mapping_utils.py
      refused('rate_limited', 429, {
        object: 'error',
        message: 'Service tier capacity exceeded for this model.',
        type: 'service_tier_capacity_exceeded',
        code: '3505',
      }),
      // github.com/mistralai/platform-docs-public/issues/7: the message is an object.
      refused('http_422', 422, {
        object: 'error',
        message: {
          detail: [
            {
              type: 'extra_forbidden',
              loc: ['body', 'foo'],
              msg: 'Extra inputs are not permitted',
            },
          ],
        },
        type: 'invalid_request_error',
      }),
      // github.com/datapizza-labs/datapizza-ai/issues/98
      refused('unsupported_feature', 400, {
        object: 'error',
        message: "Unexpected role 'user' after role 'tool'",
        type: 'invalid_request_message_order',
      }),
    ],
    gaveUp: ['error'],
    oddities: [
      {
        says: 'a citation between two texts',
        stream: [
          part({ role: 'assistant', content: 'Do not press it [' }),
          part({ content: [{ type: 'reference', reference_ids: [1] }] }),
          part({ content: '] says the manual.' }),
          part({}, 'stop'),
          DONE,
        ],
        fate: { text: 'Do not press it [] says the manual.' },
      },
      {
        says: 'its first words as a part, and the others as text',
        stream: [
          part({ content: [{ type: 'text', text: 'Do not ' }] }),
          part({ content: 'press it.' }, 'stop'),
          DONE,
        ],
        fate: { text: 'Do not press it.' },
      },
    ],
  },
  {
    name: 'xAI',
    place: 'hosted_a',
    manner: { role: 'each', calls: { arguments: 'whole' } },
    refusals: [
      // github.com/continuedev/continue/issues/10778; github.com/vercel/ai/issues/15338
      refused('credentials', 400, {
        code: 'Client specified an invalid argument',
        error: 'Incorrect API key provided: xa***.',
      }),
      // github.com/stanford-crfm/helm/issues/3770
      refused('moderation', 403, {
        code: PERMISSION,
        error: 'Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO',
      }),
      refused('credentials', 403, { code: PERMISSION, error: 'The API key has no access.' }),
      refused('quota', 403, {
        code: PERMISSION,
        error: 'Your team has used all available credits.',
      }),
      refused('context_length', 400, {
        code: 'Client specified an invalid argument',
        error:
          "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
      }),
      refused('model_not_found', 404, {
        code: 'Some requested entity was not found',
        error: 'The model m does not exist or your team does not have access to it.',
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
  {
    // Portkey-AI/gateway, finishReasonMap.ts.
    name: 'Cohere',
    place: 'hosted_a',
    manner: {
      finish: {
        stop: 'COMPLETE',
        length: 'MAX_TOKENS',
        tool_calls: 'TOOL_CALL',
        content_filter: 'ERROR_TOXIC',
      },
      end: 'none',
    },
    refusals: [
      // github.com/Portkey-AI/gateway, src/providers/cohere
      refused('credentials', 401, { message: 'invalid api token' }),
      refused('model_not_found', 404, {
        message: "model 'm' not found, make sure the correct model ID was used",
      }),
      refused('context_length', 400, {
        message: 'too many tokens: total number of tokens in the prompt cannot exceed 128000',
      }),
      refused('rate_limited', 429, {
        message: 'You are using a Trial key, which is limited to 10 API calls / minute.',
      }),
    ],
    gaveUp: ['TIMEOUT', 'ERROR'],
  },
  {
    // Portkey-AI/gateway, providers/perplexity-ai: the text so far beside each delta.
    name: 'Perplexity',
    place: 'hosted_a',
    manner: { usage: 'each', lineEnd: '\r\n' },
    refusals: [
      refused('model_not_found', 400, {
        error: {
          message: "Invalid model 'm'. Permitted models can be found in the documentation.",
          type: 'invalid_model',
          code: 400,
        },
      }),
      // A page of the wall in front of it.
      refused(
        'credentials',
        401,
        '<html><head><title>401 Authorization Required</title></head></html>',
        { headers: { 'content-type': 'text/html' } },
      ),
    ],
    oddities: [
      {
        says: 'the text so far beside each delta',
        stream: [
          beside('Do not ', 'Do not '),
          beside('press it.', 'Do not press it.'),
          part({}, 'stop'),
          DONE,
        ],
        fate: { text: 'Do not press it.' },
      },
    ],
  },
];

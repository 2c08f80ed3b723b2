import type { FailureReason } from '#shared/reasons.ts';
import type { Json, System } from './system.ts';

type Body = Json | readonly Json[] | string;

/** A refusal: who is asked, the status and the body, and what it means, which decides who is asked next. */
export interface Refusal {
  readonly reason: FailureReason;
  readonly place: System['place'];
  readonly status: number;
  readonly body: Body;
}

/** In OpenAI's shape. */
export const openAi = (message: string, code: string | null = null): Json => ({
  error: { message, type: 'invalid_request_error', param: null, code },
});

/** In Anthropic's. */
export const anthropic = (type: string, message: string): Json => ({
  type: 'error',
  error: { type, message },
});

/** In Google's. */
export const google = (
  code: number,
  message: string,
  status: string,
  details: readonly Json[] = [],
): readonly Json[] => [{ error: { code, message, status, details } }];

/** xAI says it of missing rights and of flagged prompts. */
const PERMISSION = 'The caller does not have permission to execute the specified operation';
const html = (text: string) => `<!DOCTYPE html><html><body>${text}</body></html>`;

/** What hosts and engines were seen to refuse with, by reason and by place and status; texts alone as they came. */
const REFUSED: Readonly<Record<string, Readonly<Record<string, readonly Body[]>>>> = {
  context_length: {
    'local 400': [
      // vLLM, SGLang, oMLX, TabbyAPI, TensorRT-LLM, Ollama, LM Studio.
      openAi('The decoder prompt (length 5000) is longer than the maximum model length of 4096.'),
      openAi('max_tokens must be at least 1, got -904.'),
      openAi('Input length (5000 tokens) exceeds the maximum allowed length (4090 tokens).'),
      openAi('Prefill context too large for available memory (preflight safety guard)'),
      openAi('Memory limit exceeded during prefill'),
      openAi('Prompt length 5000 is greater than max_seq_len 4096'),
      openAi('The sum of prompt length (8193.0), query length (0) should not exceed 8192'),
      openAi('{"error":{"code":400,"message":"no","type":"exceed_context_size_error"}}'),
      { error: 'Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)' },
    ],
    'local 422': [
      // TGI.
      { error: 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096.' },
    ],
    'hosted_a 400': [
      // Anthropic, Gemini, Cohere, DashScope, Z.ai, Baidu, GitHub Copilot, Groq.
      anthropic('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
      google(400, 'The input token count (12) exceeds the maximum number.', 'INVALID_ARGUMENT'),
      { message: 'too many tokens: total number of tokens in the prompt cannot exceed 128000' },
      openAi('<400> InternalError.Algo: Range of input length should be [1, 129024]'),
      { error: { code: '1261', message: '超长' } },
      openAi('no', 'tokens_too_long'),
      openAi('prompt token count of 140000 exceeds the limit of 128000'),
      openAi('no', 'model_max_prompt_tokens_exceeded'),
      openAi('Please reduce the length of the messages or completion.'),
      openAi('no', 'context_length_exceeded'),
    ],
  },
  request_too_large: {
    'hosted_a 402': [
      // OpenRouter.
      openAi('This request requires more credits, or fewer max_tokens.'),
      openAi('You requested up to 65535 tokens, but can only afford 31000.'),
    ],
    // Moonshot.
    'hosted_a 400': [openAi('total message size 10176584 exceeds limit 2097152')],
    'hosted_a 413': [
      // Anthropic, and Cerebras without a body (badlogic/pi-mono, packages/ai, overflow.ts).
      anthropic('request_too_large', 'Request exceeds the maximum size'),
      '',
    ],
    'hosted_a 429': [
      // OpenAI, Anthropic.
      openAi('Request too large for m on tokens per min (TPM).', 'rate_limit_exceeded'),
      openAi('Tokens per min (TPM): Limit 30000, Requested 52000.', 'rate_limit_exceeded'),
      anthropic('rate_limit_error', 'Extra usage is required for long context requests.'),
    ],
  },
  unsupported_input: {
    'local 400': [
      // vLLM, Ollama and its cloud, llama.cpp, SGLang, LM Studio.
      { object: 'error', message: 'm is not a multimodal model', code: 400 },
      openAi('At most 1 image(s) may be provided in one prompt.'),
      openAi('this model only supports one image while more than one image requested'),
      openAi('this model does not support image input (ref: 1)'),
      openAi('unsupported content[].type'),
      openAi('Multimodal inputs are not supported when --language-model-only is set.'),
      { error: 'Model does not support images. Please use a model that does.' },
    ],
    'local 500': [
      // llama.cpp, Ollama.
      openAi('image input is not supported - hint: you may need to provide the mmproj'),
      openAi('Failed to parse messages: Unsupported content part type: "image_url"; messages = x'),
      openAi('this model is missing data required for image input'),
    ],
    // DeepSeek, OpenRouter.
    'hosted_a 400': [openAi('unknown variant `image_url`, expected `text`')],
    'hosted_a 404': [openAi('No endpoints found that support image input')],
  },
  unsupported_feature: {
    'local 400': [
      // vLLM, LMDeploy, llama.cpp, Ollama.
      openAi('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'),
      { object: 'error', message: 'The requested feature is not supported.', code: 400 },
      openAi('Unable to generate parser for this template.'),
      openAi("JSON schema conversion failed:\nPattern must start with '^' and end with '$'"),
      openAi('registry.ollama.ai/library/m does not support tools'),
    ],
    'hosted_a 400': [
      // OpenAI, Mistral.
      openAi("'temperature' does not support 0.2 with this model.", 'unsupported_value'),
      { object: 'error', message: "Unexpected role 'user' after role 'tool'" },
    ],
    // OpenRouter.
    'hosted_a 404': [openAi('No endpoints found that support tool use.')],
    // NVIDIA NIM: no stream, whatever it begins with.
    'hosted_a 500': ['data: {"title":"Internal Error","detail":"System role not supported"}'],
  },
  moderation: {
    'hosted_a 400': [
      // OpenAI, Azure, DeepSeek, Z.ai.
      openAi('Your prompt was flagged as potentially violating our usage policy.'),
      openAi('no', 'invalid_prompt'),
      openAi("The prompt triggered Azure OpenAI's content management policy."),
      { error: { message: 'no', innererror: { code: 'ResponsibleAIPolicyViolation' } } },
      openAi('no', 'content_filter'),
      openAi('Content Exists Risk', 'invalid_request_error'),
      { error: { code: '1301', message: 'no' }, contentFilter: [{ role: 'user', level: 1 }] },
    ],
  },
  busy: {
    // SGLang's gateway beyond its queue, and Xinference.
    'local 429': [
      '',
      { detail: '[pid=1] Rate limit reached. Request limit 1 for the model: m' },
      openAi('no', 'server_busy'),
    ],
    // llama.cpp's router.
    'local 500': [openAi('model limit reached, try again later')],
    'local 503': [
      // KoboldCpp (LostRuins/koboldcpp#2481), llama-swap, vLLM's production stack.
      { detail: { msg: 'Server is busy; please try again later.', type: 'service_unavailable' } },
      openAi('[m] process is not ready', 'service_unavailable'),
      openAi('The owner has paused this machine.', 'paused'),
      'Server is busy',
      { error: "Model 'm' is temporarily unavailable. Please try again later." },
    ],
  },
  rate_limited: {
    'hosted_a 429': [
      // OpenAI, Anthropic, Mistral, Moonshot, Gemini.
      openAi('Rate limit reached for m.', 'rate_limit_exceeded'),
      anthropic('rate_limit_error', 'This request would exceed your rate limit.'),
      { object: 'error', message: 'Service tier capacity exceeded for this model.', code: '3505' },
      openAi('Your account reached max request concurrency: 1'),
      google(429, 'You exceeded your current quota.', 'RESOURCE_EXHAUSTED'),
    ],
  },
  quota: {
    'hosted_a 400': [
      // Anthropic, DashScope.
      anthropic('invalid_request_error', 'Your credit balance is too low to access the API.'),
      openAi('Access denied, please make sure your account is in good standing.', 'Arrearage'),
    ],
    // GitHub Copilot.
    'hosted_a 402': [openAi('You have exceeded your premium request allowance.')],
    'hosted_a 403': [
      // xAI; Kimi's plans; Volcengine.
      { code: PERMISSION, error: 'You have either run out of available resources or so.' },
      { code: PERMISSION, error: 'You do not have an active Grok subscription.' },
      { code: PERMISSION, error: 'Your team has used all available credits.' },
      openAi("You've reached your usage limit for this billing cycle.", 'access_terminated_error'),
      openAi('Your account has an overdue balance.', 'AccountOverdueError'),
    ],
    'hosted_a 429': [
      // OpenAI, plans of OpenCode and others, Gemini, Cohere, Z.ai, Cloudflare Workers AI.
      openAi('You exceeded your current quota.', 'insufficient_quota'),
      openAi('Subscription quota exceeded. You can continue using free models.'),
      openAi('Coding Plan hour quota has been exceeded'),
      openAi('All accounts have exhausted their quota (reset after 5m)'),
      google(429, 'Your prepayment credits are depleted.', 'RESOURCE_EXHAUSTED'),
      { message: 'You are using a Trial key, which is limited to 1000 API calls / month.' },
      { error: { code: '1113', message: 'no' } },
      { error: { code: '0', message: '余额不足或无可用资源包,请充值。' } },
      { error: { code: '1308', message: 'no' } },
      { error: { code: '0', message: 'Usage limit reached for 5 hour.' } },
      { errors: [{ code: 4006, message: 'used up your daily free allocation of 10 neurons' }] },
    ],
  },
  credentials: {
    // Gemini.
    'hosted_a 400': [
      openAi('API key expired. Please renew the API key.'),
      google(400, 'no', 'INVALID_ARGUMENT', [{ reason: 'API_KEY_INVALID' }]),
    ],
    'hosted_a 401': [
      // OpenAI, Vertex, and the firewall before Perplexity.
      openAi('Incorrect API key provided: sk-***.', 'invalid_api_key'),
      google(401, 'Request had invalid authentication credentials.', 'UNAUTHENTICATED'),
      html('401 Authorization Required'),
    ],
    // xAI.
    'hosted_a 403': [{ code: PERMISSION, error: 'The API key has no access.' }],
    // Z.ai, for an account that is closed.
    'hosted_a 429': [{ error: { code: '1112', message: 'Your account has been locked.' } }],
  },
  model_not_found: {
    // TabbyAPI.
    'local 400': [{ detail: 'No models are currently loaded.' }],
    // Ollama, for a model of its cloud.
    'local 401': [{ error: 'unauthorized', signin_url: 'https://ollama.com/connect?name=x' }],
    'local 404': [
      // LM Studio, Docker Model Runner (docker/hello-genai#25), llama-swap.
      openAi('No models loaded. Please load a model in the developer page.'),
      'error while getting model: model not found',
      openAi('no router for requested model', 'not_found'),
    ],
    // Ollama, for a model of its cloud.
    'local 429': [openAi('you (bob) have reached your weekly usage limit, upgrade for more')],
    'local 500': [
      // Ollama, llama-swap, Lemonade.
      openAi('model requires more system memory (18.2 GiB) than is available (9.1 GiB)'),
      openAi('llama-server reported out-of-memory during startup'),
      openAi('unspecific error: health check timed out after 2m0s', 'internal_error'),
      { error: 'All loaded models of type llm are pinned. Unload a model first.' },
    ],
    // LocalAI (mostlygeek/llama-swap#155).
    'local 502': ['unable to start process', 'upstream command exited prematurely'],
    // oMLX.
    'local 507': [{ detail: 'Cannot load m: projected memory 127.68GB would exceed 88.00GB' }],
    'hosted_a 400': [
      // Mistral, Z.ai, OpenRouter, Bedrock.
      { object: 'error', message: 'no', type: 'invalid_model', code: '1500' },
      { object: 'error', message: 'Invalid model: m', type: 'no', code: '1500' },
      { error: { code: '1211', message: 'no' } },
      { error: { code: '0', message: '模型不存在，请检查模型代码。' } },
      openAi('m is not a valid model ID'),
      { message: 'Invocation of model ID m with on-demand throughput isn’t supported.' },
    ],
    'hosted_a 403': [
      // OpenAI.
      openAi('Project `proj_1` does not have access to model `m`'),
      openAi('no', 'model_not_found'),
    ],
    // Anthropic, OpenRouter.
    'hosted_a 404': [
      anthropic('not_found_error', 'model: m'),
      openAi('No endpoints found for m.'),
      // Bedrock, for one that was retired.
      openAi('This model version has reached the end of its life.', 'ResourceNotFoundException'),
    ],
    'hosted_a 410': [openAi('This model was retired')],
    // OpenRouter.
    'hosted_a 503': [openAi('There is no available model provider that meets your requirements')],
  },
  bad_response: {
    'local 500': [
      // Ollama, of the process of a model.
      openAi('llama runner process has terminated: exit status 2'),
      openAi('an error was encountered while running the model: CUDA error: out of memory'),
    ],
  },
  // Moonshot (simstudioai/sim#5716).
  http_400: {
    'hosted_a 400': [
      openAi("tool_choice 'specified' is incompatible with thinking enabled"),
      // Anthropic (anthropics/claude-code#12009), OpenAI (BerriAI/litellm#18921): another source may take both.
      anthropic(
        'invalid_request_error',
        'messages.0.content.0.image.source.base64: Image does not match the provided media type image/png',
      ),
      openAi(
        "Invalid 'stop': array too long. Expected maximum length 4, but got length 12.",
        'array_above_max_length',
      ),
    ],
  },
  // The page of a firewall says nothing of a key, nor a page of a queue: Cloudflare.
  http_403: { 'hosted_a 403': [html('Sorry, you have been blocked: invalid API key')] },
  http_524: { 'hosted_a 524': [html('A timeout occurred in the queue of the model')] },
  // MLX-LM: any failure before the first token.
  http_404: { 'local 404': [{ error: 'Failed to load the tokenizer' }] },
  // TabbyAPI.
  http_422: { 'local 422': [{ detail: 'Sampler override is not allowed here' }] },
  // TGI, Bedrock.
  http_424: {
    'local 424': [{ error: 'Request failed during generation: CUDA out of memory' }],
    'hosted_a 424': [{ message: 'The request failed due to an error while processing the model.' }],
  },
  // DeepSeek.
  http_503: { 'hosted_a 503': [openAi('Service is too busy.', 'service_unavailable')] },
  // Anthropic (BerriAI/litellm#4562).
  http_529: { 'hosted_a 529': [anthropic('overloaded_error', 'Overloaded')] },
};

export const REFUSALS: readonly Refusal[] = Object.entries(REFUSED).flatMap(([reason, places]) =>
  Object.entries(places).flatMap(([at, bodies]) => {
    const [place, status] = at.split(' ') as [System['place'], string];
    return bodies.map((body) => ({
      reason: reason as FailureReason,
      place,
      status: +status,
      body,
    }));
  }),
);

import type { UpstreamError } from '../protocols/upstream-error.ts';

export type Meaning =
  /** This prompt is too long for this model. */
  | 'context_length'
  /** This request is too large for the body limit, the tokens a minute or the credits that are left. */
  | 'request_too_large'
  /** This model cannot read such input. */
  | 'unsupported_input'
  /** This model cannot do what the request uses: tools, thinking, a role, a parameter. */
  | 'unsupported_feature'
  /** This prompt was flagged. */
  | 'moderation'
  | 'rate_limited'
  /** There is no room for this model or request just now. */
  | 'full'
  | 'quota'
  | 'credentials'
  | 'model_not_found'
  /** There is no such endpoint. */
  | 'no_endpoint'
  /** Something that a request refers to by its id is missing. */
  | 'no_object'
  /** An agent could not reach its engine. */
  | 'engine_gone'
  /** The model's process has ended, whatever the status says. */
  | 'crashed';

interface Refusal {
  readonly meaning: Meaning;
  /** Any of these as code, type, status or reason, where that does not say the same in words. */
  readonly codes?: readonly string[];
  /** Any of these in the message or in a code; quantifiers are bounded, as both come from outside. */
  readonly words?: readonly RegExp[];
  /** Of a 5xx only codes count: the words may be about anything that went wrong inside. */
  readonly isNeverWordedAs5xx?: true;
}

/** A model's name in a message, with what may stand around it. */
const NAME = String.raw`.{0,160}?`;

/**
 * How hosts and engines refuse, in order: the first that matches counts. Read by codes and by meaning rather than by
 * one sentence, as the wording changes between versions. Each source shows the words; `test/upstreams/refused.ts` has them.
 */
const REFUSALS: readonly Refusal[] = [
  {
    // vLLM's Responses API, for the history of Codex or OpenCode (vllm-project/vllm#33089, #45273), which it repeats.
    meaning: 'no_endpoint',
    isNeverWordedAs5xx: true,
    words: [/'loc': \('body', 'input', '/],
  },
  { meaning: 'engine_gone', codes: ['engine_unreachable'] },
  {
    meaning: 'crashed',
    words: [
      // LM Studio with 400 (lmstudio-ai/lmstudio-bug-tracker#1057); Ollama with 500 (llm/llama_server.go).
      /\bmodel has crashed\b|error was encountered while running the model/i,
      /(runner|llama-server) (process )?has (terminated|unexpectedly stopped)/i,
    ],
  },
  {
    meaning: 'context_length',
    // Z.ai (docs.z.ai, Errors).
    codes: ['1261'],
    words: [
      // OpenAI, OpenRouter, vLLM, DeepSeek, llama.cpp, MiniMax, SGLang, Mistral, LiteLLM's exception by name.
      /context[ _-]?(length|window|size|limit)|maximum context/i,
      // Anthropic, Fireworks, Ollama's cloud; Bedrock; Baidu (cloud.baidu.com/doc/qianfan-api/s/rmwbl43x7).
      /(prompt|input|tokens|characters) (is )?too long/i,
      // vLLM (input processing), TGI and Together (router/src/validation.rs), xAI, Gemini, Moonshot, GitHub Copilot; Zhipu.
      /(maximum|max) (model|prompt|input|sequence) length|max prompt tokens|prompt exceeds (the )?max(imum)? length/i,
      /`?inputs`? (tokens \+ `?max_new_tokens|must have less than)/i,
      // Gemini, GitHub Copilot, SGLang, OpenRouter's Poolside, TensorRT-LLM, TabbyAPI and mistral.rs.
      /(input|prompt).{0,20} (length|token count)\b.{0,60} (exceeds?|(longer|greater) than) /i,
      // Moonshot, Cohere, GitHub Models (cline/cline#2115); Groq and Cerebras, DashScope.
      /exceeded model token limit|token limit exceeded|tokens limit reached|too many tokens/i,
      /reduce the length of the (messages|prompt|input)|range of input length should be/i,
      // vLLM, where the prompt leaves no room for an answer; llama.cpp, for embeddings (tools/server).
      /max_tokens must be at least 1, got -\d|input .{0,40}too large to process/i,
      // LM Studio; oMLX, for the memory that is free (jundot/omlx#2179, #1488).
      /tokens to keep from the initial prompt|context the overflows|n_keep .{0,20}>= n_ctx/i,
      /context too large for available memory|memory limit exceeded during prefill/i,
    ],
  },
  {
    meaning: 'request_too_large',
    codes: ['string_above_max_length'],
    words: [
      // OpenAI with 429, Groq with 413 (fork-dev/TrackerWin#2595): more than a minute's tokens at once.
      /(request|payload|body|entity).{0,30} too large|exceeds the maximum (allowed )?(request |payload |body )?size/i,
      // Anthropic with 429 (anthropics/claude-code#42616); OpenRouter with 402 (openrouter.ai/docs, Errors): smaller ones work.
      /required for long context requests|prompt tokens limit exceeded|token capacity required/i,
      // The same; Moonshot (MoonshotAI/kimi-code#476).
      /or fewer max_tokens|can only afford|message size \d{1,12} exceeds/i,
    ],
  },
  {
    meaning: 'unsupported_input',
    codes: ['unsupported_input', 'invalid_image'],
    words: [
      // llama.cpp, 500 (seen from 0.7.0, build 11669); Moonshot, Mistral ("is not enabled") and xAI; Ollama (openai/openai.go);
      // SGLang with `--language-model-only`, 400 (srt/managers/tokenizer_manager.py); without it, the image is dropped.
      /\b(image|audio|video|vision|multimodal)s? ((inputs?|URLs) )?(\(\w+\) )?((is|are) )?not (currently )?(supported|enabled)/i,
      // llama.cpp: 400 for an unknown part; 500 in versions that read text only (ggml-org/llama.cpp#12947). vLLM, 400
      // (vllm-project/vllm#19144), and beyond `--limit-mm-per-prompt`; Ollama (server/prompt.go).
      /unsupported content(\[\]\.| part )type|is not a multimodal model|unknown part type/i,
      /at most \d+ (image|audio|video)\(s\)|only supports one image/i,
      // Anthropic, beyond 5 MB or 8,000 pixels (NousResearch/hermes-agent, error_classifier.py); Ollama: 500 or 400 by version
      // (`ErrNoVisionModel` in model/model.go), and its cloud, 400 (ollama/ollama#17301).
      /image (size |dimensions )?exceed|missing data required for image input/i,
      // The same, and LM Studio: "Model does not support images. Please use a model that does." (lmstudio-bug-tracker#908);
      // OpenRouter, 404 (openclaw/openclaw#99079).
      /(does(n't| not)|found that) support (the )?(image|audio|video|vision|multimodal|file input)/i,
      // DeepSeek; OpenAI; Groq, for models that read text.
      /unknown variant `?(image_url|input_audio|file)|image_url is only supported by certain models/i,
      /messages\[?\.?\d*\]?.{0,20} content must be a string/i,
    ],
  },
  {
    meaning: 'unsupported_feature',
    codes: ['unsupported_parameter', 'unsupported_value', 'tool_use_failed', 'model_not_supported'],
    words: [
      // Ollama ("does not support tools", "… thinking"; server/routes.go), Bedrock, DeepSeek, Together.
      /does(n't| not) support (tools?|thinking|reasoning|function|response|structured|system|streaming|parallel|insert|chat)\b/i,
      // vLLM (hidenobunagai/nvidia-nim-provider#2) and llama.cpp without a switch on their command lines; llama.cpp, whose
      // grammars lack some of JSON schema (Kilo-Org/kilocode#12408, QwenLM/qwen-code#10435).
      /--enable-auto-tool-choice|--tool-call-parser|requires --jinja/i,
      /unable to generate parser|failed to parse grammar|json schema conversion failed/i,
      // LMDeploy (serve/core/exceptions.py); OpenAI: "Unsupported parameter: 'temperature' is not supported with this model."
      /requested feature is not supported|is not supported (with|for|by|in) this model/i,
      // OpenRouter, 404.
      /no endpoints found that (can handle|support) (the |tool|require|structured)/i,
      /(tool calling|tool use|function calling|tools?|response_format|json_schema|logprobs)`?'? (is|are) not (supported|available|enabled)/i,
      /response_format.{0,30} (unavailable|not supported)/i,
      // NVIDIA NIM, 500 (BerriAI/litellm#4558); Gemma at Gemini; templates in llama.cpp and vLLM.
      /system role (is )?not supported|developer instruction is not enabled/i,
      /roles must alternate|only user(,| and) .{0,20}assistant roles are supported|unexpected role|expected last role/i,
    ],
  },
  {
    meaning: 'moderation',
    // OpenAI; MiniMax; Zhipu.
    codes: ['invalid_prompt', 'base_resp:1026', 'base_resp:1027', '1301'],
    words: [
      // OpenRouter with 403, OpenAI with 400; xAI with 403 (stanford-crfm/helm#3770), Azure, Anthropic.
      /(was|were|been) flagged|flagged (as|for)|usage (guidelines|polic)|content (management )?polic/i,
      /violates? (our |the )?(usage|content|safety)|blocked by (the |our )?content|content filter/i,
      /responsible ai|safety system|SAFETY_CHECK/i,
      // DeepSeek, Moonshot, DashScope, Volcengine.
      /content exists risk|considered high risk|(inappropriate|sensitive) content|data inspection failed/i,
    ],
  },
  // Gemini with the code of its limits (dyad-sh/dyad#3626).
  { meaning: 'quota', words: [/credits are depleted/i] },
  {
    meaning: 'rate_limited',
    // Gemini calls a minute's limit a quota (dcdpr/jp#1061). Zhipu; MiniMax; Mistral (BerriAI/litellm,
    // exception_mapping_utils.py); OpenAI, in an event of a stream.
    codes: ['RESOURCE_EXHAUSTED', '1302', '1305', 'base_resp:1002', 'base_resp:1039'],
    words: [/^rate limit( exceeded)?;|service tier capacity exceeded|flex tier capacity/i],
  },
  {
    meaning: 'full',
    words: [
      // llama.cpp's router with 500, while all it may hold are at work (tools/server/server-models.cpp); llama-swap with 503
      // and 500, LM Studio: another model takes the place; Xinference with 429 (core/model.py).
      /model limit reached|process is not ready|model (is |was )?unloaded|request limit \d+ for the model/i,
      // vLLM's production stack, scaled to zero (services/request_service); GPUStack (routes/openai.py).
      new RegExp(String.raw`\bmodel\b${NAME}is temporarily unavailable|no running instances`, 'i'),
    ],
  },
  {
    meaning: 'quota',
    // Zhipu (lidge-jun/opencodex#41), MiniMax, SiliconFlow; the limits of Zhipu's plans for hours, weeks or months
    // (docs.bigmodel.cn, api-code), and of MiniMax's.
    codes: ['1113', 'base_resp:1008', '30001', '1304', '1308', '1309', '1310', 'base_resp:2056'],
    words: [
      // OpenAI; Anthropic, 400 (anthropics/claude-code#66314); DeepSeek; SiliconFlow; one-api; Novita.
      /billing (error|hard limit|not active)|insufficient (account |user )?(balance|credits?|funds|quota)/i,
      /balance (is )?(too low|insufficient|not enough)|not enough balance/i,
      // LiteLLM, for a key's budget (proxy/auth/auth_checks.py); Volcengine (volcengine.com/docs/82379/1299023); DashScope.
      /budget exceeded|account overdue|arrearage/i,
      // OpenAI, Moonshot; plans of OpenCode and of others (diegosouzapw/OmniRoute#1772, #2119, #9387).
      /exceeded (your )?(current|monthly).{0,20} (quota|credits?)|exhausted their quota/i,
      /^quota exceeded;|(subscription|hour|daily|weekly|monthly) quota (has been )?exceeded/i,
      // xAI; Together; Fireworks; OpenRouter's limit of a key; Copilot.
      /used all available credits|(spending|credit) limit|out of available resources|active grok subscription/i,
      // MiniMax's plans with 429 (MiniMax-AI/MiniMax-M2.7#36), Z.ai's (NousResearch/hermes-agent#103038), Codex with 400.
      /usage limit (was |has been |is )?(reached|exceeded)|monthly limit exhausted/i,
      // Anthropic; Kimi's plans with 403; LocalAI's for a user (core/http/auth/quota.go).
      /reached your (specified .{0,20})?usage limit|\b(request|token) quota exceeded for /i,
      /key limit exceeded|premium request allowance|account .{0,60}suspended/i,
      // Cohere's trial keys, which have a limit a minute, too; Cloudflare Workers AI with 429
      // (developers.cloudflare.com/workers-ai/platform/pricing).
      /limited to \d{1,9} api calls \/ month|used up your (daily )?free allocation/i,
      // Zhipu, one-api and new-api, in Chinese.
      /余额不足|额度不足|额度已用尽|欠费/,
    ],
  },
  {
    meaning: 'credentials',
    // MiniMax; Zhipu, for an account that is closed, with a 429 (docs.z.ai/api-reference/api-code).
    codes: ['UNAUTHENTICATED', 'base_resp:1004', 'base_resp:2049', '1110', '1111', '1112', '1121'],
    words: [
      /^authentication error;|login fail|令牌已过期|invalid authentication/i,
      // xAI with 400 (continuedev/continue#10778), Gemini with 400 (continuedev/continue#11336).
      /(incorrect|invalid|expired|missing|wrong|revoked|no) (x-)?api[ -]?key/i,
      /api key (is |was |has )?(not valid|invalid|expired|missing|required)|api key .{0,20}(leaked|revoked|disabled|deleted)/i,
      /(organization|account|project) ((has been|is|was) )?(disabled|deactivated|restricted)/i,
      /(user )?location is not supported|country, region, or territory not supported/i,
    ],
  },
  {
    meaning: 'model_not_found',
    isNeverWordedAs5xx: true,
    // Groq, until its owner has accepted them (console.groq.com/docs/errors); Zhipu; SiliconFlow; Volcengine, beyond what its
    // owner set for one model; Ollama with 401, for a model of its cloud (server/cloud_proxy.go).
    codes: ['model_terms_required', '1211', '1311', '20012', 'SetLimitExceeded', 'signin_url'],
    words: [
      // Mistral and Perplexity; GitHub Models and Zhipu; Bedrock; LiteLLM ("Invalid model name passed in").
      /\b(unknown|invalid|unsupported|no such|inaccessible) model\b/i,
      /not a valid model|model (name|id|identifier) (is |was )?(invalid|not valid|not found)/i,
      // OpenAI, Azure, DeepSeek ("Model Not Exist"), vLLM, Ollama, llama.cpp's router, SiliconFlow, Groq, NIM, Cerebras, xAI.
      new RegExp(
        String.raw`\b(models?|deployment)\b${NAME}\b(do(es)? not exist|not exist|(is |was |be )?not (found|available|deployed|served|loaded)|is disabled|no longer (available|supported|served)|((been|is|was) )?(decommissioned|retired|removed|deprecated)|end of life)\b`,
        'i',
      ),
      // Moonshot; OpenAI and Groq for a project; Together.
      /not found the model|(access|permission|unable to access) (to |for )?(the )?model/i,
      // Bedrock, for a model that it only serves through an inference profile; OpenRouter, 404 without the word; Zhipu.
      /invocation of model id .{0,160} isn.t supported|no (allowed )?(endpoints|providers)\b|模型不存在/i,
    ],
  },
  {
    // It has the model, and cannot load it or has no channel for it: other models are served all the same.
    meaning: 'model_not_found',
    words: [
      // LM Studio; TabbyAPI; llama-swap; Ollama; one-api, 503.
      /no models? (is |are )?(currently )?loaded|failed to load model|could not (load |find (a )?(real )?)model/i,
      // llama.cpp's router and llama-swap with 500 and 502: this model's process does not start.
      /\bmodel (name=)?.{0,160} failed to load|unable to start process|upstream (command )?exited/i,
      /health check timed out after|failed to start command/i,
      // Ollama, whose engine is a llama-server (llm/llama_server.go).
      /llama-server (reported out-of-memory|startup failed)|timed out waiting for llama|model requires more .{0,9}memory/i,
      // LocalAI after a load that failed; Lemonade, where all in memory are to stay; OpenRouter with 503.
      /load is in cooldown|models of type .{0,40}are pinned|no available (model provider|channel)|无可用渠道/i,
      // Ollama with 403, for some or all models of its cloud (ollama/ollama#15741), and with 429 (continuedev/continue#11444):
      // its own models are free. oMLX (jundot/omlx#62).
      /this model requires a subscription|ollama cloud is disabled|cannot load .{0,160}memory/i,
      /reached your (hourly|daily|weekly|session|monthly) usage limit/i,
    ],
  },
  {
    meaning: 'no_endpoint',
    isNeverWordedAs5xx: true,
    words: [
      // OpenAI's names the method, as in "Invalid URL (POST /v1/foo)": `invalid_url` may be that of the caller's image.
      /(unknown|invalid|unsupported|no such) (request (url|path)|(url|path) \(|route|endpoint)|cannot (post|get) \//i,
      // LM Studio, with a 200 (OpenHands/OpenHands#419).
      /(page|route|path|endpoint) (was )?not found|^\s*(404 )?not found\.?\s*$|unexpected endpoint or method/i,
      // As a code it is about an object, such as a model at Moonshot (`resource_not_found_error`) and Bedrock.
      /(file|resource) (was )?not found(?!( error| exception)?;)/i,
      // A Responses API that takes functions only, for Codex's tools (ggml-org/llama.cpp#20156, vllm-project/vllm#42475,
      // CommandCodeAI/command-code#885, coder/coder#28656, Alishahryar1/free-claude-code#859).
      /'type' of tool must be 'function'|'tools', \d+, .{0,40}'type'\).{0,20}input should be/i,
      /only \W?type:\W{0,3}function\W{1,3}tools are supported|(unknown|unsupported) (responses )?tool type/i,
    ],
  },
  {
    meaning: 'no_object',
    codes: ['previous_response_not_found'],
    words: [/\b(response|conversation|item|file|vector store)s? with id\b/i],
  },
];

/** Null if neither a code nor the words say what a refusal with this status is about. */
export function meaningOf({ codes, message }: UpstreamError, status: number): Meaning | null {
  if (asksForMoreThanTheLimit(message)) return 'request_too_large';
  const text = message.slice(0, MAX_SEARCHED_CHARS);
  const named = codes.map(inWords);
  const found = REFUSALS.find(({ codes: own = [], words = [], isNeverWordedAs5xx }) => {
    const isRead = status < 500 || isNeverWordedAs5xx !== true;
    const said = isRead ? [...named, text] : named;
    return (
      codes.some((code) => own.includes(code)) ||
      words.some((each) => said.some((one) => each.test(one)))
    );
  });
  return found?.meaning ?? null;
}

/** `model_not_found` and `ModelNotFound` say so; the full stop tells a code from a whole message. */
const inWords = (code: string) =>
  `${code.slice(0, MAX_SEARCHED_CHARS).replaceAll(/[_-]|(?<=[a-z])(?=[A-Z])/g, ' ')};`;

/** Error messages stand at the start of what an engine appends. */
const MAX_SEARCHED_CHARS = 2000;

/** OpenAI's and Groq's limit of tokens a minute: waiting helps only a request that is smaller than it. */
function asksForMoreThanTheLimit(message: string): boolean {
  const [, limit, requested] =
    /\blimit:? (\d{1,12})\b.{0,60}\brequested:? (\d{1,12})\b/i.exec(message) ?? [];
  return limit !== undefined && Number(requested) > Number(limit);
}

/** Ollama's "server busy", llama-server's "Loading model", an agent's "paused", full queues. */
const BUSY =
  /busy|queue|overload|paused|draining|loading|capacity|no slot|too many (concurrent )?requests/i;
/** llama-server's "Loading model" and a host's "warming up". */
const LOADING = /\b(loading|starting|warming)\b/i;

/** Whether an engine says that it is full or starting; said of anything else, the same words mean nothing. */
export function saysBusy({ codes, message }: UpstreamError): boolean {
  return BUSY.test(message) || codes.some((code) => BUSY.test(code));
}

/** Busy because it is starting up. */
export function saysLoading({ message }: Pick<UpstreamError, 'message'>): boolean {
  return LOADING.test(message);
}

/** Whether a refusal is about a model. */
export function saysModel({ message }: UpstreamError): boolean {
  return /\bmodels?\b/i.test(message);
}

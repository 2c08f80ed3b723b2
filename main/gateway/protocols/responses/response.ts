import { isObject } from '#shared/objects.ts';
import type { Finish } from '../chat/finish.ts';
import type { Usage } from '../translation/chat-answer.ts';
import type { HttpError } from '../../../platform/http/responses.ts';
import type { TranslatedExchange } from '../translation/translation.ts';
import type { OutputItem } from './output.ts';

export type ResponseProgress =
  | { readonly status: 'in_progress' | 'completed' }
  | { readonly status: 'incomplete'; readonly reason: 'max_output_tokens' | 'content_filter' }
  | { readonly status: 'failed'; readonly error: HttpError };

export function progressOf(finish: Finish): ResponseProgress {
  switch (finish) {
    case 'length':
      return { status: 'incomplete', reason: 'max_output_tokens' };
    case 'content_filter':
      return { status: 'incomplete', reason: 'content_filter' };
    default:
      return { status: 'completed' };
  }
}

/** Settings of a request that its answer repeats, with their defaults. */
const REPEATED: Readonly<Record<string, unknown>> = {
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  parallel_tool_calls: true,
  reasoning: { effort: null, summary: null },
  temperature: null,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_p: null,
  user: null,
};

export interface ResponseState {
  readonly model: string;
  readonly output: readonly OutputItem[];
  readonly usage: Usage | null;
}

/** The object of a whole answer, which the first and last events of a stream also contain. */
export function responseObject(
  exchange: TranslatedExchange,
  progress: ResponseProgress,
  { model, output, usage }: ResponseState,
): object {
  const request = isObject(exchange.request) ? exchange.request : {};
  const repeated = Object.entries(REPEATED).map(([key, other]) => [key, request[key] ?? other]);
  return {
    id: `resp_${exchange.id}`,
    object: 'response',
    created_at: exchange.createdAt,
    status: progress.status,
    error: progress.status === 'failed' ? failureOf(progress.error) : null,
    incomplete_details: progress.status === 'incomplete' ? { reason: progress.reason } : null,
    model,
    output,
    usage: usage === null ? null : usageObject(usage),
    background: false,
    previous_response_id: null,
    service_tier: 'default',
    // Answers cannot be retrieved later.
    store: false,
    truncation: 'disabled',
    access_programs: null,
    ...(Object.fromEntries(repeated) as object),
  };
}

function usageObject({ input, cached, output, reasoning }: Usage): object {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning ?? 0 },
    total_tokens: input + output,
  };
}

/** The codes of this field are a fixed set; the gateway's own code goes into the error event. */
function failureOf({ status, message }: HttpError): object {
  return { code: status === 429 ? 'rate_limit_exceeded' : 'server_error', message };
}

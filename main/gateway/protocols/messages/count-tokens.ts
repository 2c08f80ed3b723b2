import { isObject } from '../../../platform/json.ts';
import type { ChatPart } from '../translation/conversation.ts';
import type { TranslationResult } from '../translation/translation.ts';
import { toCountedChat } from './request.ts';

export type TokenCount =
  | { readonly kind: 'counted'; readonly body: { readonly input_tokens: number } }
  | Exclude<TranslationResult, { readonly kind: 'chat' }>;

/** For English and for code; other languages take more tokens, but also more bytes. */
const BYTES_PER_TOKEN = 4;
/** For the role and the separators of a message. */
const TOKENS_PER_MESSAGE = 4;
/** Of a PDF, as text and as a picture (docs.anthropic.com, PDF support), and the bytes of a usual page. */
const TOKENS_PER_PAGE = 2000;
const BYTES_PER_PAGE = 64 * 1024;
/** For an image of the size to which Anthropic scales larger ones down. */
const TOKENS_PER_IMAGE = 1600;

/** An estimate: chat completions offer no way to count, and each model counts differently. */
export function countTokens(body: unknown): TokenCount {
  const translated = toCountedChat(body);
  if (translated.kind !== 'chat') return translated;
  const { messages, tools } = translated.body;
  const tokens = messages.map((message) => {
    const { content, ...rest } = message;
    const parts = Array.isArray(content) ? (content as readonly ChatPart[]) : [];
    const text = typeof content === 'string' ? content : '';
    return parts.reduce(
      (sum, part) => sum + tokensOfPart(part),
      TOKENS_PER_MESSAGE + tokensOfText(text) + tokensOfCalls(rest),
    );
  });
  const total = tokens.reduce((sum, each) => sum + each, 0) + tokensOfValue(tools);
  return { kind: 'counted', body: { input_tokens: Math.ceil(total) } };
}

const tokensOfText = (text: string) => Buffer.byteLength(text) / BYTES_PER_TOKEN;

const tokensOfValue = (value: unknown) =>
  value === undefined ? 0 : tokensOfText(JSON.stringify(value));

function tokensOfPart(part: ChatPart): number {
  if (part.type === 'text') return tokensOfText(part.text);
  // Base64 has four characters for three bytes.
  if (part.type === 'file')
    return Math.ceil((part.file.file_data.length * 0.75) / BYTES_PER_PAGE) * TOKENS_PER_PAGE;
  return part.type === 'image_url' ? TOKENS_PER_IMAGE : tokensOfValue(part);
}

function tokensOfCalls(message: object): number {
  if (!isObject(message)) return 0;
  return tokensOfValue(message['tool_calls']) + tokensOfValue(message['reasoning_content']);
}

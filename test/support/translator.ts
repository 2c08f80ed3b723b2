import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createItemMemory } from '../../main/gateway/protocols/responses/item-memory.ts';
import { MESSAGES_TRANSLATION } from '../../main/gateway/protocols/messages/endpoint.ts';
import { RESPONSES_TRANSLATION } from '../../main/gateway/protocols/responses/endpoint.ts';
import type {
  TranslatedExchange,
  ProtocolTranslation,
} from '../../main/gateway/protocols/translation/translation.ts';
import type { Reply } from './chat-answers.ts';
import { chunksOf, piecesOf, wholeOf } from '../upstreams/speech.ts';
import { listening } from './listening.ts';
import { answerOf, streamOf } from './translated.ts';
import { json } from './upstream.ts';

/** An upstream that speaks chat completions, as a script. */
export interface ScriptedChat {
  /** The answer to the next requests. */
  said: Reply;
  /** Those of the requests after it. */
  next: readonly Reply[];
  pieceChars: number;
  /** Bodies that reached it. */
  readonly bodies: Record<string, unknown>[];
}

/** A server of both protocols whose answers all come from the script. */
export async function startTranslator(said: Reply) {
  const chat: ScriptedChat = { said, next: [], pieceChars: 3, bodies: [] };
  const items = createItemMemory(1024 * 1024).of(null);
  const server = createServer((req, res) => void serve(req, res, chat, items));
  const port = await listening(server);
  return { chat, url: `http://127.0.0.1:${port}` };
}

const PROTOCOLS: Readonly<Record<string, ProtocolTranslation>> = {
  '/v1/responses': RESPONSES_TRANSLATION,
  '/v1/messages': MESSAGES_TRANSLATION,
};

async function serve(
  req: IncomingMessage,
  res: ServerResponse,
  chat: ScriptedChat,
  items: TranslatedExchange['items'],
): Promise<void> {
  const protocol = PROTOCOLS[req.url ?? ''];
  if (protocol === undefined) return void res.writeHead(404).end();
  const parts: Buffer[] = [];
  for await (const part of req) parts.push(part as Buffer);
  const request = JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>;
  const translated = protocol.toChat(request, items);
  if (translated.kind !== 'chat') return void res.writeHead(400).end(translated.message);
  chat.bodies.push(JSON.parse(JSON.stringify(translated.body)) as Record<string, unknown>);
  const exchange = { request, id: randomUUID(), items, functions: translated.functions };
  const now = { ...chat };
  [chat.said = now.said, ...chat.next] = chat.next;
  if (request['stream'] === true) return stream(res, protocol, exchange, now);
  json(200, answerOf(wholeOf(now.said), protocol, exchange) ?? {})({ res });
}

function stream(
  res: ServerResponse,
  protocol: ProtocolTranslation,
  exchange: Partial<TranslatedExchange>,
  { said, pieceChars }: ScriptedChat,
): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  const translated = streamOf(protocol, exchange);
  for (const chunk of chunksOf(said, {}, { pieces: piecesOf(pieceChars) }))
    res.write(translated.push(chunk));
  res.end(translated.end());
}

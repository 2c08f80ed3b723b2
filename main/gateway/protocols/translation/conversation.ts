import type { CallPiece } from '../chat/calls.ts';

export type ChatPart =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'image_url';
      readonly image_url: { readonly url: string; readonly detail?: string };
    }
  | {
      readonly type: 'file';
      readonly file: { readonly filename: string; readonly file_data: string };
    }
  | { readonly type: 'input_audio'; readonly input_audio: unknown };

type Content = string | readonly ChatPart[];

type ToolCall = Omit<CallPiece, 'index'>;

export type ChatMessage =
  | { readonly role: 'system' | 'user'; readonly content: Content }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: Content }
  | {
      readonly role: 'assistant';
      readonly content: string | null;
      readonly reasoning_content?: string;
      readonly tool_calls?: readonly object[];
    };

export interface ChatBody {
  readonly messages: readonly ChatMessage[];
  readonly [field: string]: unknown;
}

export type Conversation = ReturnType<typeof createConversation>;

interface Turn {
  readonly texts: string[];
  readonly reasoning: string[];
  readonly calls: ToolCall[];
}

export const textPart = (text: string): ChatPart => ({ type: 'text', text });

/**
 * Text alone as one string: NIM refuses lists (earendil-works/pi#1528), mlx-vlm kept the last part only
 * (Blaizzy/mlx-vlm#1137), and some chat templates print them. Where a template takes strings, vLLM and llama.cpp join the
 * parts with the same line break (unslothai/unsloth#6480).
 */
function contentOf(parts: readonly ChatPart[]): Content {
  const texts = parts.flatMap((part) => (part.type === 'text' ? part.text : []));
  return texts.length === parts.length ? joined(texts) : parts;
}

const joined = (texts: readonly string[]) => texts.join('\n');

/**
 * Text, reasoning and calls of one turn become one message. System texts before the first turn also become one, because
 * many chat templates accept no second one. Tool messages hold text only, so images in a result follow as the user's.
 */
export function createConversation() {
  const messages: ChatMessage[] = [];
  const opening: string[] = [];
  let turn: Turn | null = null;
  let afterResults: ChatPart[] = [];

  function open(): void {
    if (opening.length > 0)
      messages.push({ role: 'system', content: opening.splice(0).join('\n\n') });
  }

  function add(message: ChatMessage): void {
    open();
    messages.push(message);
  }

  function endTurn(): void {
    if (turn === null) return;
    const { texts, reasoning, calls } = turn;
    turn = null;
    const text = joined(texts);
    add({
      role: 'assistant',
      // OpenAI takes null beside calls only (vercel/ai#14950).
      content: text === '' && calls.length > 0 ? null : text,
      ...(reasoning.length > 0 && { reasoning_content: reasoning.join('\n\n') }),
      ...(calls.length > 0 && { tool_calls: calls.map(chatCall) }),
    });
  }

  function endResults(): void {
    if (afterResults.length === 0) return;
    const parts = afterResults;
    afterResults = [];
    add({ role: 'user', content: parts });
  }

  function inTurn(): Turn {
    endResults();
    turn ??= { texts: [], reasoning: [], calls: [] };
    return turn;
  }

  return {
    system(text: string) {
      endTurn();
      endResults();
      if (messages.length === 0) opening.push(text);
      else add({ role: 'system', content: text });
    },
    user(parts: readonly ChatPart[]) {
      endTurn();
      const all = [...afterResults, ...parts];
      afterResults = [];
      add({ role: 'user', content: contentOf(all) });
    },
    /** Empty for a turn that says nothing. */
    assistant(text: string) {
      const { texts } = inTurn();
      if (text !== '') texts.push(text);
    },
    reasoning: (text: string) => void inTurn().reasoning.push(text),
    call: (call: ToolCall) => void inTurn().calls.push(call),
    toolResult(id: string, parts: readonly ChatPart[]) {
      endTurn();
      const texts = parts.filter(({ type }) => type === 'text');
      const others = parts.filter(({ type }) => type !== 'text');
      if (others.length > 0) {
        texts.push(textPart('[The rest of the result is in the next user message.]'));
        afterResults.push(textPart(`[Rest of the result of tool call ${id}:]`), ...others);
      }
      add({ role: 'tool', tool_call_id: id, content: contentOf(texts) });
    },
    messages(): readonly ChatMessage[] {
      endTurn();
      endResults();
      open();
      return messages;
    },
  };
}

/** Engines parse the arguments, and clients may repeat a call to which none came. */
function chatCall({ id, name, arguments: args }: ToolCall): object {
  const json = args.trim() === '' ? '{}' : args;
  return { id, type: 'function', function: { name, arguments: json } };
}

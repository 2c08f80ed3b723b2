/** A part of a chat message. */
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

/** A function that the model called. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** As JSON. */
  readonly arguments: string;
}

export type ChatMessage =
  | { readonly role: 'system' | 'user'; readonly content: Content }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: Content }
  | {
      readonly role: 'assistant';
      readonly content: Content | null;
      readonly reasoning_content?: string;
      readonly tool_calls?: readonly object[];
    };

/** The body of a chat completion. */
export interface ChatBody {
  readonly messages: readonly ChatMessage[];
  readonly [field: string]: unknown;
}

/** Builds chat messages from a sequence of inputs and answers. */
export interface Conversation {
  system(text: string): void;
  user(parts: readonly ChatPart[]): void;
  assistant(text: string): void;
  reasoning(text: string): void;
  call(call: ToolCall): void;
  toolResult(id: string, parts: readonly ChatPart[]): void;
  messages(): readonly ChatMessage[];
}

/** One turn of the model. */
interface Turn {
  readonly texts: string[];
  readonly reasoning: string[];
  readonly calls: ToolCall[];
}

const textPart = (text: string): ChatPart => ({ type: 'text', text });

/** Some chat templates only read strings. */
function contentOf(parts: readonly ChatPart[]): Content {
  const [first] = parts;
  if (first === undefined) return '';
  return parts.length === 1 && first.type === 'text' ? first.text : parts;
}

/**
 * Text, reasoning and calls of one turn become one message. System texts before the first turn also become one, because
 * many chat templates accept no second one. Tool messages hold text only, so images in a result follow as the user's.
 */
export function createConversation(): Conversation {
  const messages: ChatMessage[] = [];
  const opening: string[] = [];
  let turn: Turn | null = null;
  let afterResults: ChatPart[] = [];

  function add(message: ChatMessage): void {
    if (opening.length > 0)
      messages.push({ role: 'system', content: opening.splice(0).join('\n\n') });
    messages.push(message);
  }

  function endTurn(): void {
    if (turn === null) return;
    const { texts, reasoning, calls } = turn;
    turn = null;
    add({
      role: 'assistant',
      content: texts.length === 0 ? null : contentOf(texts.map(textPart)),
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
    system(text) {
      endTurn();
      endResults();
      if (messages.length === 0) opening.push(text);
      else add({ role: 'system', content: text });
    },
    user(parts) {
      endTurn();
      const all = [...afterResults, ...parts];
      afterResults = [];
      add({ role: 'user', content: contentOf(all) });
    },
    assistant: (text) => void inTurn().texts.push(text),
    reasoning: (text) => void inTurn().reasoning.push(text),
    call: (call) => void inTurn().calls.push(call),
    toolResult(id, parts) {
      endTurn();
      const texts = parts.filter(({ type }) => type === 'text');
      const others = parts.filter(({ type }) => type !== 'text');
      if (others.length > 0) {
        texts.push(textPart('[The rest of the result is in the next user message.]'));
        afterResults.push(textPart(`[Rest of the result of tool call ${id}:]`), ...others);
      }
      add({ role: 'tool', tool_call_id: id, content: contentOf(texts) });
    },
    messages() {
      endTurn();
      endResults();
      if (opening.length > 0)
        messages.push({ role: 'system', content: opening.splice(0).join('\n\n') });
      return messages;
    },
  };
}

function chatCall({ id, name, arguments: args }: ToolCall): object {
  return { id, type: 'function', function: { name, arguments: args } };
}

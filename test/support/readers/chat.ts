import { asList, asObject, asText, type Json, objectIn } from './events.ts';
import { type Draft, type Finish, type Heard, newDraft, type Reader, usageIn } from './heard.ts';

/** Reasons of engines that have none yet. */
const NO_REASON: readonly unknown[] = [null, undefined, '', 'null'];

const FINISHES: readonly Finish[] = ['stop', 'length', 'tool_calls', 'content_filter'];

function finishOf(reason: unknown): Finish | null {
  return FINISHES.find((finish) => finish === reason) ?? null;
}

const usageOf = (usage: Json) => usageIn(usage, 'prompt_tokens', 'completion_tokens');

/** Engines that know both names give the same text under each; Mistral's thoughts are parts of the content. */
const reasoningIn = ({ reasoning_content: own, reasoning, reasoning_text: told, content }: Json) =>
  asText(own) ||
  asText(reasoning) ||
  asText(told) ||
  asList(content)
    .flatMap(({ thinking }) => asList(thinking))
    .map(({ text }) => asText(text))
    .join('');

const textIn = ({ content }: Json) =>
  asText(content) ||
  asList(content)
    .map(({ text }) => asText(text))
    .join('');

/** A whole chat completion. */
export function hearCompletion(body: Json): Heard {
  const draft = newDraft();
  const [choice = {}, ...others] = asList(body['choices']);
  const message = asObject(choice['message']);
  if (body['object'] !== 'chat.completion') draft.faults.push('it is no chat completion');
  if (others.length > 0) draft.faults.push('it has several choices');
  if (message['role'] !== 'assistant') draft.faults.push('it has no role');
  draft.end = 'whole';
  draft.reasoning = reasoningIn(message);
  draft.text = textIn(message);
  draft.finish = finishOf(choice['finish_reason']);
  draft.usages.push(usageOf(asObject(body['usage'])));
  draft.calls = asList(message['tool_calls']).map(({ id, function: called }) => ({
    id: asText(id),
    name: asText(asObject(called)['name']),
    arguments: asText(asObject(called)['arguments']),
  }));
  return draft;
}

/** The chunks of one. */
export function createChatReader(): Reader {
  const draft = newDraft();
  const identity = { id: new Set<unknown>(), model: new Set<unknown>() };
  let roles = 0;
  let finishes = 0;

  function addChoice({ index, delta: given, finish_reason: reason }: Json): void {
    const delta = asObject(given);
    if (index !== 0) draft.faults.push(`a choice ${String(index)}`);
    if (typeof delta['role'] === 'string') roles += 1;
    draft.reasoning += reasoningIn(delta);
    draft.text += textIn(delta);
    for (const piece of asList(delta['tool_calls'])) addCallPiece(draft, piece);
    if (NO_REASON.includes(reason)) return;
    finishes += 1;
    draft.finish = finishOf(reason);
  }

  return {
    event(name, data) {
      if (draft.end !== 'open') draft.faults.push('an event after the end');
      if (data === '[DONE]') {
        draft.end = 'whole';
        return;
      }
      const chunk = objectIn(data);
      if (chunk === null) draft.faults.push(`no JSON: ${data}`);
      else if ('error' in chunk || name === 'error') draft.end = 'broken';
      else {
        if (!Array.isArray(chunk['choices'])) draft.faults.push('a chunk without choices');
        identity.id.add(chunk['id']);
        identity.model.add(chunk['model']);
        for (const choice of asList(chunk['choices'])) addChoice(choice);
        if (typeof chunk['usage'] === 'object' && chunk['usage'] !== null)
          draft.usages.push(usageOf(asObject(chunk['usage'])));
      }
    },
    heard() {
      const { faults } = draft;
      if (roles > 1) faults.push(`${roles} roles`);
      if (finishes > 1) faults.push(`${finishes} finish reasons`);
      for (const [field, values] of Object.entries(identity))
        if (values.size > 1) faults.push(`several of ${field}: ${[...values].join(', ')}`);
      return draft;
    },
  };
}

function addCallPiece({ calls, faults }: Draft, piece: Json): void {
  const { index, id } = piece;
  const called = asObject(piece['function']);
  const more = asText(called['arguments']);
  const at = Number(index);
  const known = calls[at];
  if (known !== undefined) calls[at] = { ...known, arguments: known.arguments + more };
  else if (at === calls.length)
    calls.push({ id: asText(id), name: asText(called['name']), arguments: more });
  else faults.push(`a piece of the call ${String(index)}`);
}

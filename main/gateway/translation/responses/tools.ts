import { type FieldReader, isAbsent, NO_COUNTERPART } from '../findings.ts';

const KNOWN = 'type name description parameters strict allowed_callers async defer_loading'.split(
  ' ',
);

const CHOICES: ReadonlySet<string> = new Set(['none', 'auto', 'required']);

/** `tools`, `tool_choice` and `parallel_tool_calls` of a chat completion. */
export function readTools(reader: FieldReader): object {
  const tools = reader.elements('tools').flatMap((tool) => readTool(tool) ?? []);
  const { choice, allowed } = readChoice(reader);
  const offered =
    allowed === null ? tools : tools.filter(({ function: { name } }) => allowed.has(name));
  const parallel = reader.flag('parallel_tool_calls');
  // Some engines refuse these two without tools, where they mean nothing.
  if (offered.length === 0) return {};
  return {
    tools: offered,
    ...(choice !== undefined && { tool_choice: choice }),
    ...(parallel !== undefined && { parallel_tool_calls: parallel }),
  };
}

interface ChatTool {
  readonly type: 'function';
  readonly function: { readonly name: string; readonly [field: string]: unknown };
}

function readTool(tool: FieldReader): ChatTool | null {
  const type = tool.requiredText('type');
  if (type !== 'function') {
    tool.unsupported(
      'type',
      `a tool of type '${type}' runs at its provider or has no counterpart in chat completions; only functions are translated.`,
    );
    return null;
  }
  tool.refuseOthers(KNOWN);
  if (tool.flag('async') === true) tool.unsupported('async', NO_COUNTERPART);
  const callers = tool.list('allowed_callers');
  if (callers !== undefined && !callers.includes('direct')) {
    tool.unsupported('allowed_callers', NO_COUNTERPART);
  }
  const description = tool.text('description');
  const parameters = tool.object('parameters');
  const strict = tool.flag('strict');
  return {
    type,
    function: {
      name: tool.requiredText('name'),
      ...(description !== undefined && { description }),
      ...(parameters !== undefined && { parameters }),
      ...(strict !== undefined && { strict }),
    },
  };
}

interface Choice {
  readonly choice?: string | object;
  /** Names of the only tools that may be called; null: all. */
  readonly allowed: ReadonlySet<string> | null;
}

function readChoice(reader: FieldReader): Choice {
  const value = reader.get('tool_choice');
  if (isAbsent(value)) return { allowed: null };
  if (typeof value === 'string') {
    if (!CHOICES.has(value)) reader.bad('tool_choice', 'must be none, auto, required or an object');
    return { choice: value, allowed: null };
  }
  const choice = reader.inner('tool_choice');
  const type = choice?.requiredText('type');
  if (choice === null || type === undefined) return { allowed: null };
  if (type === 'function') {
    const name = choice.requiredText('name');
    return { choice: { type, function: { name } }, allowed: null };
  }
  if (type === 'allowed_tools') return readAllowed(choice);
  choice.unsupported('type', `a choice of '${type}' has no counterpart in chat completions.`);
  return { allowed: null };
}

/** Offering only the allowed tools comes to the same. */
function readAllowed(choice: FieldReader): Choice {
  const mode = choice.requiredText('mode');
  if (mode !== 'auto' && mode !== 'required') choice.bad('mode', 'must be auto or required');
  const names = choice.elements('tools').map((tool) => tool.requiredText('name'));
  return { choice: mode, allowed: new Set(names) };
}

import { type FieldReader, isAbsent, NO_COUNTERPART } from '../findings.ts';
import { flatName } from './namespaces.ts';

const KNOWN = 'type name description parameters strict allowed_callers async defer_loading'.split(
  ' ',
);

const CHOICES: ReadonlySet<string> = new Set(['none', 'auto', 'required']);

/** `tools`, `tool_choice` and `parallel_tool_calls` of a chat completion. */
export function readTools(reader: FieldReader): object {
  const tools = reader.elements('tools').flatMap(readTool);
  const { choice, allowed } = readChoice(reader);
  const offered =
    allowed === null ? tools : tools.filter(({ function: { name } }) => allowed.has(name));
  const parallel = reader.flag('parallel_tool_calls');
  checkNames(reader, tools);
  // Some engines refuse these two without tools, where they mean nothing.
  if (offered.length === 0) return {};
  return {
    tools: offered,
    ...(choice !== undefined && { tool_choice: choice }),
    ...(parallel !== undefined && { parallel_tool_calls: parallel }),
  };
}

/** Two functions with the same name could not be told apart in the answer. */
function checkNames(reader: FieldReader, tools: readonly ChatTool[]): void {
  const names = tools.map((tool) => tool.function.name);
  const seen = new Set(names);
  const twice = names.find((name) => !seen.delete(name));
  if (twice !== undefined) reader.unsupported('tools', `two functions are called '${twice}'.`);
}

interface ChatTool {
  readonly type: 'function';
  readonly function: { readonly name: string; readonly [field: string]: unknown };
}

/** The functions that a tool stands for. */
function readTool(tool: FieldReader): readonly ChatTool[] {
  const type = tool.requiredText('type');
  switch (type) {
    case 'function':
      return [readFunction(tool)];
    case 'namespace':
      return readNamespace(tool);
    default:
      tool.unsupported(
        'type',
        `a tool of type '${type}' runs at its provider or has no counterpart in chat completions; only functions are translated.`,
      );
      return [];
  }
}

/** The description of the namespace is added to that of its first function. */
function readNamespace(tool: FieldReader): readonly ChatTool[] {
  tool.refuseOthers(['type', 'name', 'description', 'tools']);
  const namespace = tool.requiredText('name');
  const about = tool.text('description');
  return tool.elements('tools').flatMap((inner, index) => {
    if (inner.requiredText('type') === 'function') {
      return [readFunction(inner, namespace, index === 0 ? about : undefined)];
    }
    inner.unsupported('type', 'only functions are translated in a namespace.');
    return [];
  });
}

function readFunction(tool: FieldReader, namespace?: string, about?: string): ChatTool {
  tool.refuseOthers(KNOWN);
  if (tool.flag('async') === true) tool.unsupported('async', NO_COUNTERPART);
  const callers = tool.list('allowed_callers');
  if (callers !== undefined && !callers.includes('direct')) {
    tool.unsupported('allowed_callers', NO_COUNTERPART);
  }
  const texts = [about, tool.text('description')].filter((each) => each !== undefined);
  const parameters = tool.object('parameters');
  const strict = tool.flag('strict');
  const name = tool.requiredText('name');
  return {
    type: 'function',
    function: {
      name: flatName({ name, ...(namespace !== undefined && { namespace }) }),
      ...(texts.length > 0 && { description: texts.join('\n\n') }),
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

/** Offering only the allowed tools has the same effect. */
function readAllowed(choice: FieldReader): Choice {
  const mode = choice.requiredText('mode');
  if (mode !== 'auto' && mode !== 'required') choice.bad('mode', 'must be auto or required');
  const names = choice.elements('tools').map((tool) => tool.requiredText('name'));
  return { choice: mode, allowed: new Set(names) };
}

import {
  type ChatTool,
  chatTool,
  fieldNames,
  FREE_CHOICES,
  type FieldReader,
  isAbsent,
  NO_COUNTERPART,
} from '../translation/field-reader.ts';
import { listOf, memberOf } from '../../../platform/json.ts';

const FUNCTION = fieldNames(
  'type name description parameters strict allowed_callers async defer_loading',
);
const NAMESPACE = fieldNames('type name description tools');
const CHOICE = fieldNames('type name mode tools');

const CHOICES = fieldNames('none auto required');
/**
 * Codex 0.169 adds a web search to its own functions in every request (ggml-org/llama.cpp#20156), with names of OpenAI's
 * models the search for tools and the patch, with its login images. It works without: its shell searches and patches, too.
 */
const ADDED_BY_AGENTS = fieldNames('web_search image_generation tool_search custom:apply_patch');

/** `tools`, `tool_choice` and `parallel_tool_calls` of a chat completion. */
export function readTools(reader: FieldReader): object {
  const all = reader.elements('tools');
  const isFree = FREE_CHOICES.has(reader.get('tool_choice') ?? 'auto');
  const areOthersEnough = isFree && all.some(hasFunctions);
  const tools = all.flatMap((tool) => readTool(tool, areOthersEnough));
  const { choice, allowed } = readChoice(reader);
  const offered =
    allowed === null ? tools : tools.filter(({ function: { name } }) => allowed.has(name));
  const parallel = reader.flag('parallel_tool_calls');
  checkNames(reader, tools);
  // Some engines refuse these two without tools, where they mean nothing.
  if (offered.length === 0) return {};
  return { tools: offered, tool_choice: choice, parallel_tool_calls: parallel };
}

/** Two functions with the same name could not be told apart in the answer. */
function checkNames(reader: FieldReader, tools: readonly ChatTool[]): void {
  const names = tools.map((tool) => tool.function.name);
  const seen = new Set(names);
  const twice = names.find((name) => !seen.delete(name));
  if (twice !== undefined) reader.unsupported('tools', `two functions are called '${twice}'.`);
}

const hasFunctions = (tool: FieldReader) =>
  tool.get('type') === 'function' || tool.get('type') === 'namespace';

/** The functions that a tool stands for. */
function readTool(tool: FieldReader, areOthersEnough: boolean): readonly ChatTool[] {
  const type = tool.requiredText('type');
  const kind = type === 'custom' ? `custom:${tool.requiredText('name')}` : type;
  if (areOthersEnough && ADDED_BY_AGENTS.has(kind)) {
    tool.dropWhole(type);
    return [];
  }
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
  tool.dropOthers(NAMESPACE);
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
  tool.dropOthers(FUNCTION);
  if (tool.flag('async') === true) tool.unsupported('async', NO_COUNTERPART);
  const texts = [about, tool.text('description')].filter((each) => each !== undefined);
  return chatTool(tool, {
    name: flatName({ name: tool.requiredText('name'), namespace }),
    description: texts.length > 0 ? texts.join('\n\n') : undefined,
    parameters: tool.object('parameters'),
  });
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
  choice?.dropOthers(CHOICE);
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
  const names = choice.elements('tools').flatMap((tool) => {
    if (tool.get('type') === 'function') return tool.requiredText('name');
    // Servers and built-in tools, of which not all have a name.
    tool.unsupported('type', NO_COUNTERPART);
    return [];
  });
  return { choice: mode, allowed: new Set(names) };
}

/** The name of a function, and of its namespace if it is in one. */
export interface FunctionName {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** The name for chat completions, which have no namespaces. */
export const flatName = ({ namespace, name }: FunctionName): string =>
  namespace === undefined ? name : `${namespace}__${name}`;

export function namespacedFunctions(request: unknown): ReadonlyMap<string, FunctionName> {
  const names = new Map<string, FunctionName>();
  for (const tool of listOf(memberOf(request, 'tools'))) {
    const namespace = memberOf(tool, 'name');
    if (memberOf(tool, 'type') !== 'namespace' || typeof namespace !== 'string') continue;
    for (const inner of listOf(memberOf(tool, 'tools'))) {
      const name = memberOf(inner, 'name');
      if (typeof name === 'string') names.set(flatName({ namespace, name }), { namespace, name });
    }
  }
  return names;
}

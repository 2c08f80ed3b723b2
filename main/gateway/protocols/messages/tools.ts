import { fieldNames, type FieldReader } from '../translation/findings.ts';

const CHOICE = fieldNames('type name disable_parallel_tool_use');

/** `tools`, `tool_choice` and `parallel_tool_calls` of a chat completion. */
export function readTools(reader: FieldReader): object {
  const choice = reader.inner('tool_choice');
  choice?.dropOthers(CHOICE);
  const all = reader.elements('tools');
  const isFree = FREE.has(choice?.text('type') ?? 'auto');
  const areOthersEnough = isFree && all.some((tool) => typeOf(tool) === 'custom');
  const tools = all.flatMap((tool) => readTool(tool, areOthersEnough) ?? []);
  const chosen = choice === null ? undefined : readChoice(choice);
  const isSerial = choice?.flag('disable_parallel_tool_use') === true;
  // Some engines refuse these two without tools, where they mean nothing.
  if (tools.length === 0) return {};
  return {
    tools,
    ...(chosen !== undefined && { tool_choice: chosen }),
    ...(isSerial && { parallel_tool_calls: false }),
  };
}

const KNOWN = fieldNames(
  'type name description input_schema strict allowed_callers input_examples cache_control defer_loading eager_input_streaming',
);

/** Choices that any tool or none may follow. */
const FREE = fieldNames('auto none');

/** Claude Code adds one to its own tools (SaladDay/cc-switch-cli#468), and works without. */
const ADDED_BY_AGENTS = /^advisor_/;

const typeOf = (tool: FieldReader) => tool.text('type') ?? 'custom';

function readTool(tool: FieldReader, areOthersEnough: boolean): object | null {
  const type = typeOf(tool);
  if (areOthersEnough && ADDED_BY_AGENTS.test(type)) {
    tool.dropWhole(type);
    return null;
  }
  if (type !== 'custom') {
    tool.unsupported(
      'type',
      `a tool of type '${type}' runs at its provider or has no counterpart in chat completions; only tools with an input_schema are translated.`,
    );
    return null;
  }
  tool.dropOthers(KNOWN);
  const callers = tool.list('allowed_callers');
  if (callers !== undefined && !callers.includes('direct')) {
    tool.unsupported('allowed_callers', 'only the model itself calls tools here.');
  }
  if (!tool.has('input_schema')) tool.bad('input_schema', 'must be a JSON schema');
  const description = describe(tool);
  const strict = tool.flag('strict');
  return {
    type: 'function',
    function: {
      name: tool.requiredText('name'),
      ...(description !== undefined && { description }),
      parameters: tool.object('input_schema'),
      ...(strict !== undefined && { strict }),
    },
  };
}

/** In chat completions, the description is the only place for examples. */
function describe(tool: FieldReader): string | undefined {
  const description = tool.text('description');
  const examples = tool.list('input_examples') ?? [];
  if (examples.length === 0) return description;
  const lines = examples.map((example) => JSON.stringify(example));
  return [description, 'Examples of input:', ...lines]
    .filter((each) => each !== undefined)
    .join('\n');
}

function readChoice(choice: FieldReader): string | object | undefined {
  const type = choice.requiredText('type');
  switch (type) {
    case 'auto':
    case 'none':
      return type;
    case 'any':
      return 'required';
    case 'tool':
      return { type: 'function', function: { name: choice.requiredText('name') } };
    default:
      choice.bad('type', 'must be auto, any, tool or none');
      return undefined;
  }
}

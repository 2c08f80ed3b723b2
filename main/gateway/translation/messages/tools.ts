import type { FieldReader } from '../findings.ts';

/** `tools`, `tool_choice` and `parallel_tool_calls` of a chat completion. */
export function readTools(reader: FieldReader): object {
  const tools = reader.elements('tools').flatMap((tool) => readTool(tool) ?? []);
  const choice = reader.inner('tool_choice');
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

function readTool(tool: FieldReader): object | null {
  const type = tool.text('type') ?? 'custom';
  if (type !== 'custom') {
    tool.unsupported(
      'type',
      `a tool of type '${type}' runs at its provider or has no counterpart in chat completions; only tools with an input_schema are translated.`,
    );
    return null;
  }
  const callers = tool.list('allowed_callers');
  if (callers !== undefined && !callers.includes('direct')) {
    tool.unsupported('allowed_callers', 'only the model itself calls tools here.');
  }
  if (!tool.has('input_schema')) tool.bad('input_schema', 'must be a JSON schema');
  const description = tool.text('description');
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

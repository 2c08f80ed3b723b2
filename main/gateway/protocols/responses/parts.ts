import type { ChatPart } from '../translation/conversation.ts';
import { fieldNames, type FieldReader } from '../translation/findings.ts';

/** The parts of a message's `content` or of a call's `output`. */
export function readParts(item: FieldReader, key: string): ChatPart[] {
  return item.elements(key).flatMap((part) => readPart(part) ?? []);
}

/** Of parts of any type; those that are not read only concern caches, or what an earlier answer told. */
const PART = fieldNames(
  'type text refusal annotations logprobs image_url detail file_id file_url file_data filename input_audio prompt_cache_breakpoint',
);

function readPart(part: FieldReader): ChatPart | null {
  part.dropOthers(PART);
  const type = part.requiredText('type');
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: part.requiredText('text') };
    case 'refusal':
      return { type: 'text', text: part.requiredText('refusal') };
    case 'input_image':
      return readImage(part);
    case 'input_file':
      return readFile(part);
    case 'input_audio':
      return { type: 'input_audio', input_audio: part.object('input_audio') };
    default:
      part.unsupported('type', `a part of type '${type}' has no counterpart in chat completions.`);
      return null;
  }
}

const DETAILS = fieldNames('auto low high original');

function readImage(part: FieldReader): ChatPart | null {
  if (part.has('file_id')) {
    part.unsupported(
      'file_id',
      'this upstream keeps no files; send image_url, as a URL or base64.',
    );
    return null;
  }
  const url = part.requiredText('image_url');
  const detail = part.oneOf('detail', DETAILS) ?? 'auto';
  return {
    type: 'image_url',
    // Chat completions have no detail above "high".
    image_url: {
      url,
      ...(detail !== 'auto' && { detail: detail === 'original' ? 'high' : detail }),
    },
  };
}

function readFile(part: FieldReader): ChatPart | null {
  for (const key of ['file_id', 'file_url']) {
    if (!part.has(key)) continue;
    part.unsupported(key, 'this upstream fetches and keeps no files; send file_data.');
    return null;
  }
  const data = part.requiredText('file_data');
  return { type: 'file', file: { filename: part.text('filename') ?? 'file', file_data: data } };
}

/** The texts of a message that may contain only text. */
export function textsOf(item: FieldReader, parts: readonly ChatPart[]): string[] {
  return parts.flatMap((part) => {
    if (part.type === 'text') return part.text;
    item.unsupported('content', 'only user messages may contain images, files or audio.');
    return [];
  });
}

import type { ChatPart } from '../translation/conversation.ts';
import { type FieldReader, NO_COUNTERPART } from '../translation/findings.ts';

export function readImage(block: FieldReader): ChatPart[] {
  const source = block.inner('source');
  if (source === null) {
    block.bad('source', 'must be an object');
    return [];
  }
  const type = source.requiredText('type');
  switch (type) {
    case 'base64':
      return [image(dataUrl(source))];
    case 'url':
      return [image(source.requiredText('url'))];
    default:
      source.unsupported('type', KEEPS_NO_FILES);
      return [];
  }
}

const KEEPS_NO_FILES = 'this upstream keeps no files; send the data as base64.';

const image = (url: string): ChatPart => ({ type: 'image_url', image_url: { url } });

function dataUrl(source: FieldReader): string {
  return `data:${source.requiredText('media_type')};base64,${source.requiredText('data')}`;
}

/** Plain text becomes text; a PDF becomes a file, which not every upstream reads. */
export function readDocument(block: FieldReader): ChatPart[] {
  refuseCitations(block);
  const title = block.text('title');
  const context = block.text('context');
  const head = [title, context].filter((text) => text !== undefined).join('\n');
  const intro: ChatPart[] = head === '' ? [] : [{ type: 'text', text: head }];
  const source = block.inner('source');
  if (source === null) {
    block.bad('source', 'must be an object');
    return [];
  }
  switch (source.requiredText('type')) {
    case 'text':
      return [...intro, { type: 'text', text: source.requiredText('data') }];
    case 'content':
      return [...intro, ...innerParts(source)];
    case 'base64': {
      const file = { filename: title ?? 'document.pdf', file_data: dataUrl(source) };
      return [...intro, { type: 'file', file }];
    }
    default:
      source.unsupported('type', 'this upstream fetches and keeps no files; send base64.');
      return [];
  }
}

/** The content of a document: a text, or blocks of text and images. */
function innerParts(source: FieldReader): ChatPart[] {
  const content = source.get('content');
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return source.elements('content').flatMap((block) => {
    if (block.text('type') === 'image') return readImage(block);
    return [{ type: 'text', text: block.requiredText('text') }];
  });
}

/** As one text, with its title and source. */
export function readSearchResult(block: FieldReader): ChatPart[] {
  refuseCitations(block);
  const texts = block.elements('content').map((each) => each.requiredText('text'));
  const text = [block.requiredText('title'), block.requiredText('source'), ...texts].join('\n');
  return [{ type: 'text', text }];
}

function refuseCitations(block: FieldReader): void {
  const citations = block.inner('citations');
  if (citations?.flag('enabled') === true) citations.unsupported('enabled', NO_COUNTERPART);
}

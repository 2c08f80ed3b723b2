/*
 * How many tokens a body probably has. Its pictures, PDFs and recordings are base64, of which no model reads the characters.
 */

/** Of English and of code; other languages take more tokens, but also more bytes. */
export const BYTES_PER_TOKEN = 4;
/** For an image of the size to which Anthropic scales larger ones down. */
export const TOKENS_PER_IMAGE = 1600;
/** Of a PDF, as text and as a picture (docs.anthropic.com, PDF support), and the bytes of a usual page. */
const TOKENS_PER_PAGE = 2000;
const BYTES_PER_PAGE = 64 * 1024;
/** As MP3 16 a second, as a WAV of 16 kHz 32: OpenAI counts 10, Gemini 32 (ai.google.dev, Understand and count tokens). */
const BYTES_PER_RECORDED_TOKEN = 1024;

/** In a member called `data` or `file_data`, or in a data URL; its own first characters are the last of what is matched. */
const DATA = /(?:data"\s*:\s*"|(?<!\\)"data:(?!text)[^",]*;base64,).{7}$/s;
const ABOUT_BYTES = 128;
/** By its type, or by its own `%PDF-`. Words of another part do not count, of which a brace would be between. */
const PDF = /pdf[^{}]*$|JVBERi0$/;
const RECORDING = /(?:audio|video)[^{}]*\{?[^{}]*$/;

/** Of a run of base64. */
function tokensOfRun(length: number, about: string): number {
  if (!DATA.test(about)) return length / BYTES_PER_TOKEN;
  const bytes = length * 0.75;
  if (PDF.test(about)) return Math.ceil(bytes / BYTES_PER_PAGE) * TOKENS_PER_PAGE;
  if (RECORDING.test(about)) return bytes / BYTES_PER_RECORDED_TOKEN;
  return Math.min(TOKENS_PER_IMAGE, length / BYTES_PER_TOKEN);
}

/** Less is a thumbnail, whose characters do little harm. */
const MIN_DATA_BYTES = 1024;
/** With the letters for URLs, and the backslash that some write before a slash or a line end. */
const IS_BASE64 = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(/[\w+/=\\-]/.test(String.fromCharCode(byte))),
);

/**
 * Looks for long runs of base64, backwards from where one would have its 1,024th byte: a text has a blank there, or a few
 * bytes before, so that most of its bytes are not looked at, and none twice.
 */
export function tokensIn(body: Buffer): number {
  let textBytes = body.length;
  let [ofRuns, start, seen] = [0, 0, 0];
  for (let last = MIN_DATA_BYTES - 1; last < body.length; last = start + MIN_DATA_BYTES - 1) {
    let at = last;
    while (at >= seen && IS_BASE64[body[at] ?? 0] === 1) at -= 1;
    if (at < seen) {
      const quote = body.indexOf('"', last);
      at = quote === -1 ? body.length : quote;
      const about = body.toString('latin1', Math.max(0, start - ABOUT_BYTES), start + 7);
      textBytes -= at - start;
      ofRuns += tokensOfRun(at - start, about);
    }
    start = at + 1;
    seen = Math.max(start, last + 1);
  }
  return Math.ceil(textBytes / BYTES_PER_TOKEN + ofRuns);
}

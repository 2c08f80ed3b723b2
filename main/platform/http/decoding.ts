import type { Transform } from 'node:stream';
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
  type Zlib,
} from 'node:zlib';
import { ByteBuffer } from '../byte-buffer.ts';
import type { Exchange, ResponseListener } from './types.ts';

const DECODERS = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
} as const;

type Coding = keyof typeof DECODERS;

export const isDecodable = (coding: string): coding is Coding => Object.hasOwn(DECODERS, coding);

export const createDecoder = (coding: Coding) => DECODERS[coding]();

/** Input that may wait for the decoder before the sender is paused. */
const MAX_WAITING_BYTES = 64 * 1024;

/**
 * Wraps an exchange and decodes its body. Must be called from the listener's `onHead`. The gateway sends no
 * `Accept-Encoding`, but some upstreams and proxies compress all the same.
 */
export function decoded(inner: Exchange, coding: Coding): Exchange {
  const decoder = createDecoder(coding);
  const outer: Exchange = {
    listener: inner.listener,
    pause: () => void decoder.pause(),
    resume: () => void decoder.resume(),
    abort() {
      inner.abort();
      decoder.destroy();
    },
    hasLeft: () => inner.hasLeft(),
  };
  decoder.on('data', (chunk: Buffer) => outer.listener.onData(chunk));
  decoder.on('end', () => outer.listener.onEnd());
  decoder.on('error', (error: NodeJS.ErrnoException) => {
    inner.abort();
    outer.listener.onFailure({ kind: 'cut', detail: error.code ?? error.name });
  });
  inner.listener = decoderInput(inner, decoder, (failure) => {
    decoder.destroy();
    outer.listener.onFailure(failure);
  });
  return outer;
}

/**
 * Feeds a decoder one piece at a time, and joins what arrives meanwhile to the next piece. The decoder's own
 * queue would hold a call and a flush for each of a thousand small pieces.
 */
function decoderInput(
  inner: Exchange,
  decoder: Transform & Pick<Zlib, 'flush'>,
  onFailure: ResponseListener['onFailure'],
): ResponseListener {
  const waiting = new ByteBuffer();
  let isBusy = false;
  let hasEnded = false;
  let isPaused = false;

  const feed = () => {
    if (isBusy || decoder.destroyed) return;
    if (waiting.length === 0) {
      if (hasEnded) decoder.end();
      return;
    }
    isBusy = true;
    decoder.write(waiting.take());
    // Without a flush a compressed event would stay inside the decoder until more input comes.
    decoder.flush(() => {
      isBusy = false;
      if (isPaused) inner.resume();
      isPaused = false;
      feed();
    });
  };
  return {
    onHead() {
      // `decoded` is called from `onHead`, and there is only one.
    },
    onData(chunk) {
      waiting.add(chunk);
      if (waiting.length > MAX_WAITING_BYTES && !isPaused) {
        isPaused = true;
        inner.pause();
      }
      feed();
    },
    onEnd() {
      hasEnded = true;
      feed();
    },
    onFailure,
  };
}

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

/** True for a content coding that `decoded` can undo. */
export function isDecodable(encoding: string): encoding is keyof typeof DECODERS {
  return Object.hasOwn(DECODERS, encoding);
}

/** So much may wait for the decoder before the sender is paused. */
const MAX_WAITING_BYTES = 64 * 1024;

/**
 * An exchange whose body is decoded on the way. The gateway never asks for a coding, but some
 * upstreams and proxies compress all the same. To be called from the listener's `onHead`.
 */
export function decoded(inner: Exchange, encoding: keyof typeof DECODERS): Exchange {
  const decoder = DECODERS[encoding]();
  const outer: Exchange = {
    listener: inner.listener,
    pause: () => void decoder.pause(),
    resume: () => void decoder.resume(),
    abort() {
      inner.abort();
      decoder.destroy();
    },
  };
  decoder.on('data', (chunk: Buffer) => outer.listener.onData(chunk));
  decoder.on('end', () => outer.listener.onEnd());
  decoder.on('error', (error: NodeJS.ErrnoException) => {
    inner.abort();
    outer.listener.onFailure({ kind: 'cut', stale: false, detail: error.code ?? error.name });
  });
  inner.listener = decoderInput(inner, decoder, (failure) => {
    decoder.destroy();
    outer.listener.onFailure(failure);
  });
  return outer;
}

/**
 * Feeds a decoder one piece at a time: what comes while it works is its next piece. By itself it keeps each
 * of a thousand small pieces with a call and a flush of its own.
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
    // Without this a compressed event would wait inside the decoder for more input.
    decoder.flush(() => {
      isBusy = false;
      if (isPaused) inner.resume();
      isPaused = false;
      feed();
    });
  };
  return {
    onHead() {
      // Seen already: it is what named the coding.
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

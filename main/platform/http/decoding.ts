import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib';
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
  decoder.on('drain', () => inner.resume());
  decoder.on('error', (error: NodeJS.ErrnoException) => {
    inner.abort();
    outer.listener.onFailure({ kind: 'cut', stale: false, detail: error.code ?? error.name });
  });
  inner.listener = {
    onHead() {
      // Seen already: it is what named the coding.
    },
    onData(chunk) {
      if (!decoder.write(chunk)) inner.pause();
      // Without this a compressed event would wait inside the decoder for more input.
      decoder.flush();
    },
    onEnd: () => void decoder.end(),
    onFailure(failure) {
      decoder.destroy();
      outer.listener.onFailure(failure);
    },
  } satisfies ResponseListener;
  return outer;
}

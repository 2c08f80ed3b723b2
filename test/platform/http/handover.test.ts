import { expect, test } from 'vitest';
import { bufferEvents } from '../../../main/platform/http/handover.ts';
import type { Exchange, ResponseListener } from '../../../main/platform/http/types.ts';

/** A listener that writes down what it hears. */
function hearing(name: string, heard: string[], onData = () => {}): ResponseListener {
  return {
    onHead: () => heard.push(`${name} head`),
    onData(chunk) {
      heard.push(`${name} data: ${chunk.toString()}`);
      onData();
    },
    onEnd: () => heard.push(`${name} end`),
    onFailure: () => heard.push(`${name} failure`),
  };
}

function idleExchange(): Exchange {
  return {
    listener: hearing('nobody', []),
    pause() {},
    resume() {},
    abort() {},
    hasLeft: () => true,
  };
}

test('buffered events go to the next listener in order, the data as one piece', () => {
  const exchange = idleExchange();
  const heard: string[] = [];
  const handOver = bufferEvents(exchange);
  exchange.listener.onData(Buffer.from('a'));
  exchange.listener.onData(Buffer.from('b'));
  exchange.listener.onEnd();
  handOver(hearing('relay', heard));
  expect(heard).toEqual(['relay data: ab', 'relay end']);
});

test('a listener that is replaced during the replay gets none of the rest', () => {
  const exchange = idleExchange();
  const heard: string[] = [];
  const handOver = bufferEvents(exchange);
  exchange.listener.onData(Buffer.from('a'));
  exchange.listener.onEnd();
  handOver(hearing('relay', heard, () => (exchange.listener = hearing('drain', heard))));
  expect(heard).toEqual(['relay data: a', 'drain end']);
});

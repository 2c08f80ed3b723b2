/** The gateway's own headers of its answers, which pages of all allowed origins may read. */
export const ANSWER_HEADERS = {
  upstream: 'x-gateway-upstream',
  fallbackReason: 'x-gateway-fallback-reason',
  requestId: 'x-gateway-request-id',
  provider: 'x-gateway-provider',
  model: 'x-gateway-model',
  dropped: 'x-gateway-dropped',
  repaired: 'x-gateway-repaired',
} as const;

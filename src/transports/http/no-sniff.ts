/**
 * Stops browsers from guessing another type than an answer states. Applies to every answer but those of gRPC, which no
 * browser reads; whoever writes the head of an answer adds it.
 */
export const noSniff = ['x-content-type-options', 'nosniff'] as const;
